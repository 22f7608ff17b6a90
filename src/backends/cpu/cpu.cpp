#include "backends/cpu/cpu.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "arithmetic/scalar.h"
#include "backends/cpu/floats.h"
#include "backends/cpu/rows16.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace lanewise {
namespace {

constexpr std::array table = {
#define LW_KERNEL(name, formats, layout, rows, lanes, unroll, split_k, needs, launch) \
  KernelDesc{"cpu", #name, FormatClass::formats, Layout::layout, Tile{rows, lanes, unroll, split_k}, needs, launch},
#include "backends/cpu/kernels.def"
#undef LW_KERNEL
};

// What LANEWISE_ISA may name: what it needs, and what it leaves of a processor's capabilities.
struct Isa {
  std::string_view name;
  std::uint32_t needs;
  std::uint32_t capabilities;
};
constexpr std::array isas = {
    Isa{"scalar", CAP_NONE, CAP_NONE},
    Isa{"avx2", CAP_AVX2, CAP_AVX2},
    Isa{"avxvnni", CAP_AVXVNNI, CAP_AVX2 | CAP_AVXVNNI},
    Isa{"avx512", CAP_AVX512, CAP_AVX2 | CAP_AVXVNNI | CAP_AVX512},
    Isa{"amx", CAP_AMX, CAP_AVX2 | CAP_AVXVNNI | CAP_AVX512 | CAP_AMX},
    Isa{"neon", CAP_NEON, CAP_NEON},
    Isa{"i8mm", CAP_I8MM, CAP_NEON | CAP_I8MM},
};

// NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here writes the environment, and a program that does must not race it
const char* forced_isa() { return std::getenv("LANEWISE_ISA"); }

const Isa* find_isa(std::string_view name) {
  const auto isa = std::ranges::find(isas, name, &Isa::name);
  return isa == isas.end() ? nullptr : &*isa;
}

#if defined(__x86_64__) && LANEWISE_SIMD
// Linux gives a process the tile registers when it asks; further threads have them then too.
bool may_use_tiles() {
  constexpr long request = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long tile_data = 18;
  static const bool granted = syscall(SYS_arch_prctl, request, tile_data) == 0;
  return granted;
}

// Capabilities of this processor that its system saves the registers of.
std::uint32_t detected() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return CAP_NONE;
  const auto has = [](unsigned word, unsigned bit) { return (word >> bit & 1U) != 0; };
  const bool fma_f16c = has(c, 12) && has(c, 29);
  if (!has(c, 27)) return CAP_NONE;  // OSXSAVE
  unsigned low = 0;
  unsigned high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  const bool saves_ymm = (low & 0x6U) == 0x6U;
  const bool saves_zmm = (low & 0xE6U) == 0xE6U;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return CAP_NONE;
  std::uint32_t found = CAP_NONE;
  if (saves_ymm && fma_f16c && has(b, 5)) found |= CAP_AVX2;
  const bool foundation = has(b, 16) && has(b, 17) && has(b, 30) && has(b, 31);  // F, DQ, BW, VL
  // VBMI, GFNI, VNNI, BITALG, VPOPCNTDQ
  const bool extensions = has(c, 1) && has(c, 8) && has(c, 11) && has(c, 12) && has(c, 14);
  if (saves_zmm && foundation && extensions && (found & CAP_AVX2) != 0) found |= CAP_AVX512;
  const bool tiles = has(d, 24) && has(d, 25);  // AMX-TILE, AMX-INT8
  const bool saves_tiles = (low & 0x60000U) == 0x60000U;
  if (tiles && saves_tiles && (found & CAP_AVX512) != 0 && may_use_tiles()) found |= CAP_AMX;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && has(a, 4) && (found & CAP_AVX2) != 0) found |= CAP_AVXVNNI;
  return found;
}
#elif defined(__aarch64__) && LANEWISE_SIMD
// What the system reports has its registers saved.
std::uint32_t detected() {
  if ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) == 0) return CAP_NONE;
  return (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0 ? CAP_NEON | CAP_I8MM : CAP_NEON;
}
#else
std::uint32_t detected() { return CAP_NONE; }
#endif

}  // namespace

std::span<const KernelDesc> cpu_kernels() { return table; }

std::uint32_t cpu_capabilities() {
  const char* name = forced_isa();
  const std::uint32_t found = detected();
  if (name == nullptr) return found;
  const Isa* isa = find_isa(name);
  return isa == nullptr ? CAP_NONE : found & isa->capabilities;
}

std::vector<std::string_view> cpu_isas() {
  const std::uint32_t offered = cpu_capabilities();
  std::vector<std::string_view> names;
  for (const Isa& isa : isas) {
    if ((isa.needs & ~offered) == 0) names.push_back(isa.name);
  }
  return names;
}

Outcome check_cpu_isa() {
  const char* name = forced_isa();
  if (name == nullptr) return Done{};
  const Isa* isa = find_isa(name);
  const std::uint32_t found = detected();
  std::string offered;
  for (const Isa& each : isas) {
    if ((each.needs & ~found) != 0) continue;
    offered.append(offered.empty() ? "" : ", ").append(each.name);
  }
  if (isa == nullptr) {
    return make_error(LW_ERROR_NOT_FOUND, "LANEWISE_ISA names no instruction set; this processor has: " + offered);
  }
  if ((isa->needs & ~found) != 0) {
    return make_error(LW_ERROR_UNSUPPORTED, "LANEWISE_ISA asks for " + std::string(isa->name) +
                                                ", which this processor or build lacks; it has: " + offered);
  }
  return Done{};
}

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
