// What `lanewise bench --device cuda:N` (or vulkan:N) says: a table that fits 100 columns, warnings, and the same as
// JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench_gpu.h"
#include "json.h"
#include "output.h"

namespace lanewise::program {

/// Of the device and the run.
struct GpuBenchMachine {
  std::string device;  ///< "cuda:0"
  gpu::DeviceInfo info;
  std::uint64_t cache_bytes = 0;
  std::uint64_t walked = 0;
  unsigned replays = 5;
  std::optional<PeerName> peer;
};

class GpuBenchReport {
 public:
  /// `lines`: print them.
  GpuBenchReport(Output& out, const GpuBenchMachine& machine, bool lines, bool verbose)
      : out_(out), machine_(machine), lines_(lines), verbose_(verbose) {}

  void head(const std::vector<std::string>& notes);
  void note(const std::string& line);
  void warn(const std::string& line);
  /// The windows of one matrix.
  void add(const std::vector<GpuTime>& times);
  /// Everything, after the last matrix. `ceiling_gbps`: see GpuBench.
  void summary(double ceiling_gbps);

  [[nodiscard]] const std::vector<GpuTime>& times() const { return times_; }
  [[nodiscard]] Json json(double ceiling_gbps) const;
  /// exit_ok, or exit_wrong with the first problem whose bits differ; where `strict`, exit_unsupported if a figure of
  /// the peer's is missing.
  [[nodiscard]] Exit exit(bool strict) const;

 private:
  void row(const GpuTime& time);
  void warn_above_floor(const GpuTime& time, std::string_view launches, const GpuFigure& figure);
  [[nodiscard]] std::size_t without_peer() const;

  Output& out_;
  const GpuBenchMachine& machine_;
  bool lines_;
  bool verbose_;
  std::vector<GpuTime> times_;
  std::vector<double> over_first_;  // of each time, against its matrix' first window
  std::vector<std::string> notes_;
  std::vector<std::string> warnings_;
};

}  // namespace lanewise::program
