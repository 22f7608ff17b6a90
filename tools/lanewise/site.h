// Where a command's data lies: in the program's memory for the CPU, in copies on a device with memory of its own.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/gpu/gpu.h"
#include "base/status.h"

namespace lanewise::program {

/// Bytes that the device can reach.
struct SiteBuffer {
  void* data = nullptr;
  gpu::Memory memory;  ///< empty on the CPU, where `data` is the program's
};

class Site {
 public:
  /// `device` is a name that check_device() passed.
  static Result<Site> open(const std::string& device);

  /// Null: the CPU.
  [[nodiscard]] const std::shared_ptr<gpu::Device>& gpu() const { return gpu_; }
  /// What the program holds, for a product to read.
  Result<SiteBuffer> put(const void* host, std::uint64_t bytes) const;
  /// Room for a product to write `bytes` in, which fetch() brings to `host`.
  Result<SiteBuffer> room(void* host, std::uint64_t bytes) const;
  /// Once all that was enqueued on the default stream is done.
  Outcome fetch(const SiteBuffer& buffer, void* host, std::uint64_t bytes) const;

 private:
  std::shared_ptr<gpu::Device> gpu_;
};

}  // namespace lanewise::program
