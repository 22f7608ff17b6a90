// Where the plain kernels keep a format's grid: at the start of shared memory.
#pragma once

#include "backends/cuda/machine.cuh"

namespace lanewise::cuda {

LW_DEVICE std::uint32_t grid_word(std::uint32_t index) {
  LW_SHARED_MEMORY(memory);
  return reinterpret_cast<const std::uint32_t*>(memory)[index];
}

/// What fills that place: the words of the table that a format's decode file looks up by LW_GRID.
struct NoGrid {
  static constexpr std::uint32_t words = 0;
  LW_DEVICE_MEMBER std::uint32_t word(std::uint32_t) { return 0; }
};
#define LW_GRID_TYPE_0(NAME) \
  struct NAME##Grid : ::lanewise::cuda::NoGrid {};
#define LW_GRID_TYPE_1(NAME)                                                                      \
  struct NAME##Grid {                                                                             \
    static constexpr std::uint32_t words = LW_##NAME##_TABLE_WORDS;                               \
    LW_DEVICE_MEMBER std::uint32_t word(std::uint32_t index) { return LW_##NAME##_TABLE[index]; } \
  };

}  // namespace lanewise::cuda
