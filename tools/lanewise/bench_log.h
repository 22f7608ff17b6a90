// What `lanewise bench` says, whatever device it times: notes, warnings, the peer's lines, the verdict on the bits, and
// the JSON around all of it. bench_report.h and bench_gpu_report.h add each device's own columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench_model.h"
#include "bench_run.h"
#include "json.h"
#include "output.h"

namespace lanewise::program {

class BenchLog {
 public:
  virtual ~BenchLog() = default;
  BenchLog(const BenchLog&) = delete;
  BenchLog& operator=(const BenchLog&) = delete;

  /// What is known before the first case.
  virtual void head(const std::vector<std::string>& notes) = 0;
  /// Everything, after the last one.
  virtual void summary() = 0;
  [[nodiscard]] virtual Json json() const = 0;
  /// The cold times, for a projection.
  [[nodiscard]] virtual std::vector<ShapeTime> shape_times() const = 0;

  void note(const std::string& line);
  void warn(const std::string& line);
  /// exit_ok, or exit_wrong with the first problem whose bits differ; where `strict`, exit_unsupported if a figure of
  /// the peer's is missing.
  [[nodiscard]] Exit exit(bool strict) const;

 protected:
  /// `lines`: print them. `peer` is read when something is said, so that who starts it may do so later.
  BenchLog(Output& out, const std::optional<PeerName>& peer, bool lines, bool verbose)
      : out_(out), peer_(peer), lines_(lines), verbose_(verbose) {}

  void print_peer();
  /// A row's last columns, so wide and with so many decimals, and its end.
  void end_row(const TimedCase& time, int width, int decimals);
  /// Counts a case that was said, and says what there is to say beside its row.
  void add_case(const TimedCase& time);
  void print_bits();
  void print_without_peer();

  [[nodiscard]] static Json case_json(const TimedCase& time, std::string_view device);
  /// After what each device adds.
  static void end_case_json(Json& json, const TimedCase& time);
  [[nodiscard]] Json begin_document(Json machine, std::optional<double> ceiling_gbps) const;
  /// What stands at the document's end.
  void end_document(Json& document, Json cases) const;

  Output& out_;
  const std::optional<PeerName>& peer_;
  bool lines_;
  bool verbose_;

 private:
  std::vector<std::string> notes_;
  std::vector<std::string> warnings_;
  std::optional<TimedCase> first_wrong_;
  std::size_t cases_ = 0;
  std::size_t without_peer_ = 0;
  std::uint64_t compared_ = 0;
  std::uint64_t differing_ = 0;
};

}  // namespace lanewise::program
