#pragma once

#include <cstdint>

namespace lanewise {

/// How far ahead of its reads a kernel prefetches: of 2 to 32 KB the best for Q4_K, Q6_K and Q8_0 (docs/cpu.md).
inline constexpr std::uint64_t prefetch_ahead = 12288;
/// And how far ahead what lies in the second cache by then is taken into the first.
inline constexpr std::uint64_t near_ahead = 3072;

}  // namespace lanewise
