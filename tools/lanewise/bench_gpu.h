// Times products on a device with memory of its own, cold: chains of launches over copies of W, each beside the read
// floor, which is what a kernel takes that reads the same bytes and does nothing else, in a chain of the same length.
// Plain launches begin when the launch before them has ended; overlapped ones (programmatic dependent launch) may begin
// before. A problem with group= or experts= is one launch for several matrices of the same rows; of experts each token
// takes them all.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/gpu/gpu.h"
#include "backends/gpu/timer.h"
#include "bench_peer.h"
#include "bench_run.h"
#include "harness/case.h"

namespace lanewise::program {

/// One kind of launch.
struct GpuFigure {
  double us = 0;         ///< a product: median of the replays, over the chain's length
  double spread = 0;     ///< (slowest replay - fastest) / median
  double floor_us = 0;   ///< the read floor: median over all replays beside this matrix
  double fraction = 0;   ///< floor_us / us
  double submit_us = 0;  ///< of a whole chain, on the host beside it: see gpu::Chain
};

/// What a window took; of a peer's time, `over_ours` is peer / with_image_us.
struct GpuTime : TimedCase {
  std::uint64_t products = 0;      ///< in a chain
  std::uint64_t matrices = 1;      ///< of a product
  std::uint64_t rows = 0;          ///< of each
  std::optional<double> route_us;  ///< of experts: finding those that are used, alone; in no other figure
  /// Beside a peer: an image of x and the one product that reads it, plain or, where the device can and that is faster,
  /// free to begin while the image is being made; each image waits for the product before it.
  std::optional<double> with_image_us;
  GpuFigure plain;
  std::optional<GpuFigure> overlapped;  ///< where the device can
};

struct GpuBenchOptions {
  std::uint64_t walked = std::uint64_t{4} << 30;  ///< bytes of copies of W
  unsigned replays = 5;                           ///< that medians are over, after two
  unsigned threads = 1;                           ///< of the CPU, to make W
  std::optional<PeerOptions> peer;
};

class GpuBench {
 public:
  static constexpr std::uint64_t most_products = 600;  ///< in a chain
  static constexpr std::uint64_t outputs = 4;          ///< buffers that y goes round
  static constexpr unsigned unmeasured = 2;            ///< replays before those that count

  GpuBench(std::shared_ptr<gpu::Device> device, gpu::Timer& timer, GpuBenchOptions options)
      : device_(std::move(device)), timer_(timer), options_(std::move(options)) {}

  /// One matrix and its windows. `problem` gives all but the tokens. Errors: those of select(), of the device,
  /// LW_ERROR_MEMORY; stop_asked ends it early, with what there is.
  Result<std::vector<GpuTime>> time(const Case& problem, const std::vector<std::uint64_t>& tokens);

  /// The fastest read so far, by plain launches.
  [[nodiscard]] double ceiling_gbps() const { return ceiling_gbps_; }
  /// Why figures may be no cold ones: the copies of these matrices are less than twice the last cache. Empty: they are.
  [[nodiscard]] const std::vector<std::string>& warm() const { return warm_; }

  /// Copies of a product's matrices, `stride` bytes, that a chain walks, for `walked` bytes.
  static std::uint64_t copies_of(std::uint64_t stride, std::uint64_t walked);
  /// Rows of each matrix of a problem's group or of its experts, which are all of as many.
  static std::uint64_t rows_of_each(const Case& problem);
  /// Bytes from one copy of such a matrix to the next.
  static std::uint64_t stride_of(const gpu::Device& device, const Case& problem);

 private:
  struct Floors {
    gpu::ReadShape plain, overlapped;
  };
  friend class GpuMatrix;

  std::shared_ptr<gpu::Device> device_;
  gpu::Timer& timer_;
  GpuBenchOptions options_;
  gpu::Memory walked_;  ///< kept for the next matrix of the same stride
  std::uint64_t walked_stride_ = 0;
  std::map<std::uint64_t, Floors> floors_;  ///< by bytes read
  std::unique_ptr<Peer> peer_;
  double ceiling_gbps_ = 0;
  std::vector<std::string> warm_;
};

}  // namespace lanewise::program
