#include "cuda/overrides.h"

#include "backends/cuda/primitives.cuh"

namespace lanewise::test {

const Overrides cuda_overrides = {lw_sign_index, lw_negate, lw_table16, lw_half_to_float, lw_sign_extend8, lw_dot4};

}  // namespace lanewise::test
