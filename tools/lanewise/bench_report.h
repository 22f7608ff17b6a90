// What `lanewise bench` says: a table that fits 100 columns, warnings, and the same as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench_log.h"
#include "json.h"
#include "output.h"

namespace lanewise::program {

/// Of the machine and the run, for the head of the table and for JSON.
struct BenchMachine {
  std::string processor;
  unsigned processors = 0;
  unsigned threads = 0;  ///< asked for
  bool spin = true;
  double load = 0;  ///< when the run began
  std::uint64_t last_cache = 0;
  std::uint64_t walked = 0;  ///< bytes of copies
  std::string walked_why;
  std::optional<PeerName> peer;  ///< that is timed beside
};
BenchMachine describe_machine(unsigned threads, bool spin);
/// The lines before any table: processor, threads, load.
void print_machine(Output& out, const BenchMachine& machine);
Json to_json(const BenchMachine& machine);

class BenchReport : public BenchLog {
 public:
  /// `lines`: print them.
  BenchReport(Output& out, const BenchMachine& machine, bool lines, bool verbose)
      : BenchLog(out, machine.peer, lines, verbose), machine_(machine) {}

  void head(const std::vector<std::string>& notes) override;
  void add(const BenchGroupTimes& group);
  void summary() override;
  [[nodiscard]] Json json() const override;
  [[nodiscard]] std::vector<ShapeTime> shape_times() const override;

 private:
  void row(const BenchTime& time);
  void warn_above_ceiling(const BenchTime& time, std::string_view whose, double fraction);
  [[nodiscard]] double ceiling() const;
  void print_pace();

  const BenchMachine& machine_;
  std::vector<BenchTime> times_;
  std::vector<double> ceilings_;  // cold rounds
  std::vector<double> paces_;
  double best_pace_ = 0;
  std::string best_loop_;
  double huge_pages_ = -1;
  unsigned threads_ = 0;
};

}  // namespace lanewise::program
