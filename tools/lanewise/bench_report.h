// What `lanewise bench` says: a table that fits 100 columns, warnings, and the same as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench_run.h"
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

class BenchReport {
 public:
  /// `lines`: print them.
  BenchReport(Output& out, const BenchMachine& machine, bool lines, bool verbose)
      : out_(out), machine_(machine), lines_(lines), verbose_(verbose) {}

  /// What is known before the first case.
  void head(const std::vector<std::string>& notes);
  void note(const std::string& line);
  void add(const BenchGroupTimes& group);
  /// Everything, after the last group.
  void summary();

  [[nodiscard]] const std::vector<BenchTime>& times() const { return times_; }
  [[nodiscard]] Json json() const;
  /// exit_ok, or exit_wrong with the first problem whose bits differ; where `strict`, exit_unsupported if a figure of
  /// the peer's is missing.
  [[nodiscard]] Exit exit(bool strict) const;

 private:
  void row(const BenchTime& time);
  void warn_above_ceiling(const BenchTime& time, std::string_view whose, double fraction);
  [[nodiscard]] double ceiling() const;
  [[nodiscard]] std::size_t without_peer() const;

  Output& out_;
  const BenchMachine& machine_;
  bool lines_;
  bool verbose_;
  std::vector<BenchTime> times_;
  std::vector<double> ceilings_;  // cold rounds
  std::vector<std::string> warnings_;
  std::vector<std::string> notes_;
  std::string best_loop_;
  double huge_pages_ = -1;
  unsigned threads_ = 0;
};

}  // namespace lanewise::program
