// What a measurement is good for: the device, its driver, and the kernels that were measured.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/gpu/gpu.h"

namespace lanewise::tune {

struct Fingerprint {
  std::string backend;           ///< "cpu", "cuda", "vulkan"
  std::string device;            ///< the processor's or GPU's name
  std::string driver;            ///< and its version; of a CPU the instruction sets
  std::string kernels;           ///< kernels_hash() of the build
  std::uint32_t processors = 0;  ///< that this process may run on, or multiprocessors

  bool operator==(const Fingerprint&) const = default;
};

/// Null: the CPU.
Fingerprint fingerprint_of(const gpu::Device* device);

/// A hash of the backend's sources, of the decode files and of the compiler: 16 hex digits.
std::string_view kernels_hash(std::string_view backend);

/// What differs, as a sentence; empty: nothing.
std::string difference(const Fingerprint& found, const Fingerprint& wanted);

/// "cpu-intel-r-xeon-r-processor": names the store of a device.
std::string slug(const Fingerprint& fingerprint);

}  // namespace lanewise::tune
