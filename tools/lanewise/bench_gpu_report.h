// What `lanewise bench --device cuda:N` (or vulkan:N) says: a table that fits 100 columns, warnings, and the same as
// JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench_gpu.h"
#include "bench_log.h"
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
  double ceiling_gbps = 0;  ///< see GpuBench; known when the last matrix is timed
  std::optional<PeerName> peer;
};

class GpuBenchReport : public BenchLog {
 public:
  /// `lines`: print them.
  GpuBenchReport(Output& out, const GpuBenchMachine& machine, bool lines, bool verbose)
      : BenchLog(out, machine.peer, lines, verbose), machine_(machine) {}

  void head(const std::vector<std::string>& notes) override;
  /// The windows of one matrix.
  void add(const std::vector<GpuTime>& times);
  void summary() override;
  [[nodiscard]] Json json() const override;
  [[nodiscard]] std::vector<ShapeTime> shape_times() const override;

 private:
  void row(const GpuTime& time);
  void warn_above_floor(const GpuTime& time, std::string_view launches, const GpuFigure& figure);

  const GpuBenchMachine& machine_;
  std::vector<GpuTime> times_;
  std::vector<double> over_first_;  // of each time, against its matrix' first window
};

}  // namespace lanewise::program
