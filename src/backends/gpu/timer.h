// Timing on a device: chains of launches, captured into a graph and run again and again against the device's own clock,
// and a kernel that reads memory and does nothing else, which says how fast any kernel over the same bytes could be.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "backends/gpu/gpu.h"
#include "base/status.h"

namespace lanewise::gpu {

/// How the reading kernel walks memory. Which shape is fastest depends on how much there is to read.
struct ReadShape {
  std::uint32_t blocks = 1;  ///< of 256 threads, for each multiprocessor
  std::uint32_t unroll = 1;  ///< loads of 16 bytes that a thread has in flight
};
inline constexpr std::array read_shapes = {ReadShape{1, 2}, ReadShape{1, 4}, ReadShape{1, 8}, ReadShape{2, 2},
                                           ReadShape{2, 4}, ReadShape{2, 8}, ReadShape{4, 2}, ReadShape{4, 4},
                                           ReadShape{4, 8}, ReadShape{8, 2}, ReadShape{8, 4}, ReadShape{8, 8}};

/// What was recorded, ready to run.
class Chain {
 public:
  virtual ~Chain() = default;
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;
  /// Runs all of it, waits, and gives the microseconds that it took on the device.
  virtual Result<double> replay() = 0;
  /// Microseconds that the host took for the last replay beyond those: giving it to the driver, and learning that it is
  /// done. 0: not measured.
  [[nodiscard]] virtual double submit_us() const { return 0; }

 protected:
  Chain() = default;
};

class Timer {
 public:
  virtual ~Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// The last cache's, which what is to be read cold has to exceed by far.
  [[nodiscard]] virtual std::uint64_t cache_bytes() const = 0;
  /// `enqueue` is called with a stream, and what it enqueues there becomes the chain: launches alone. A timer that is
  /// no device's may call it again for each replay, so what it refers to must outlive the chain.
  virtual Result<std::unique_ptr<Chain>> record(const std::function<Outcome(void* stream)>& enqueue) = 0;
  /// Enqueues the reading kernel over whole groups of 16 bytes of device memory (`from` aligned to 16).
  virtual Outcome read(const std::uint8_t* from, std::uint64_t bytes, ReadShape shape, bool overlapped,
                       void* stream) = 0;

 protected:
  Timer() = default;
};

}  // namespace lanewise::gpu
