// The tiles that a device has for a problem, ranked by a simple model of it (docs/tuning.md), so that only the likely
// ones are measured.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/gpu/gpu.h"
#include "kernels/kernel.h"
#include "kernels/tuning.h"

namespace lanewise::tune {

/// What the ranking knows of a device.
struct Machine {
  std::string_view backend;
  std::uint32_t capabilities = 0;
  const gpu::Device* gpu = nullptr;  ///< null: the CPU
  std::uint32_t threads = 1;         ///< of the CPU
  double read_gbps = 10;             ///< of one thread of the CPU; of a GPU see gpu_read_gbps()
};

struct Candidate {
  const KernelDesc* kernel = nullptr;
  Setting setting;
  double predicted_us = 0;

  [[nodiscard]] std::string text() const;
};

/// The default first, then the others, likeliest first. Empty where the device has no kernel for the problem.
std::vector<Candidate> candidates(const Machine& machine, const Problem& problem);

/// Microseconds that the model expects; only their order counts.
double predicted_us(const Machine& machine, const Problem& problem, const KernelDesc& kernel, const Setting& setting);

/// Parts that the library makes of such a product on the CPU.
std::uint32_t parts_of(const Machine& machine, const Problem& problem, const Setting& setting);

}  // namespace lanewise::tune
