#include "backends/cpu/cpu.h"

#include <sched.h>

#include <array>
#include <fstream>
#include <thread>

#include "arithmetic/scalar.h"

namespace lanewise {
namespace {

constexpr std::array table = {
#define LW_KERNEL(name, formats, layout, rows, lanes, unroll, split_k, needs, launch) \
  KernelDesc{"cpu", #name, FormatClass::formats, Layout::layout, Tile{rows, lanes, unroll, split_k}, needs, launch},
#include "backends/cpu/kernels.def"
#undef LW_KERNEL
};

}  // namespace

std::span<const KernelDesc> cpu_kernels() { return table; }

std::uint32_t cpu_capabilities() { return CAP_NONE; }

std::string cpu_description() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
#if defined(__aarch64__)
  return "aarch64";
#else
  return "x86-64";
#endif
}

std::uint32_t cpu_count() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return static_cast<std::uint32_t>(CPU_COUNT(&allowed));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace lanewise
