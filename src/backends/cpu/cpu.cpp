#include "backends/cpu/cpu.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
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
  // Not a stream: those take running out of memory for the end of the file.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> info(std::fopen("/proc/cpuinfo", "r"), std::fclose);
  std::array<char, 256> line;
  while (info != nullptr && std::fgets(line.data(), line.size(), info.get()) != nullptr) {
    std::string_view text(line.data());
    if (text.ends_with('\n')) text.remove_suffix(1);
    const auto colon = text.find(": ");
    if (text.starts_with("model name") && colon != std::string_view::npos) return std::string(text.substr(colon + 2));
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
