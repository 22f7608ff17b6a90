// The plain kernel of any format, codes or floats.
#pragma once

#include "backends/cuda/floats_launch.cuh"
#include "backends/cuda/simt_launch.cuh"

namespace lanewise {
inline namespace LW_DECODE_SPACE {

template <class T, class Grid>
int launch_plain(const cuda::Launch& what, void* stream) {
  if constexpr (T::info.is_float()) {
    return floats::launch<T>(what, stream);
  } else {
    return simt::launch<T, Grid>(what, stream);
  }
}

}  // namespace LW_DECODE_SPACE
}  // namespace lanewise
