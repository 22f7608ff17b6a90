// The CPU backend: its kernels, and what this machine's processor offers them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"

namespace lanewise {

/// Rows of kernels.def, best first.
std::span<const KernelDesc> cpu_kernels();
/// Whether a kernel of this backend can be told how far ahead to prefetch.
bool prefetches_ahead(const KernelDesc& kernel);
inline constexpr std::uint32_t most_ahead = 1U << 20U;
/// kernel.launch, of this backend, prefetching `ahead` bytes ahead (up to most_ahead; 0: as ever) where it
/// prefetches_ahead(). No bit depends on it.
void cpu_launch(const KernelDesc& kernel, std::uint32_t ahead, const MatrixView& w, const Activation& x,
                const OutputView& y, std::uint64_t row_begin, std::uint64_t row_end);
/// Capability bits of this processor, less those that the environment variable LANEWISE_ISA (scalar, avx2, avxvnni,
/// avx512, amx, neon, i8mm) rules out.
std::uint32_t cpu_capabilities();
/// Names of the instruction sets that cpu_capabilities() covers, scalar first.
std::vector<std::string_view> cpu_isas();
/// An error where LANEWISE_ISA names an instruction set that is unknown or not here.
Outcome check_cpu_isa();
/// pack_matrix() (layout/layout.h) with the best instruction set that `capabilities` allows: the same bytes.
void cpu_pack(std::uint32_t capabilities, Layout layout, const MatrixView& raw, std::uint64_t unit_begin,
              std::uint64_t unit_end, std::uint8_t* out);
/// The processor's name as the system gives it, or its architecture where it gives none.
std::string cpu_description();
/// Processors this process may run on.
std::uint32_t cpu_count();

}  // namespace lanewise
