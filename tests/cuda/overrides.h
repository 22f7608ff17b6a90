// The primitives as the CUDA kernels take them, out of a unit of its own: overridden and portable text can't stand in
// one.
#pragma once

#include <cstdint>

namespace lanewise::test {

struct Overrides {
  std::uint32_t (*sign_index)(std::uint32_t index);
  std::uint32_t (*negate)(std::uint32_t bytes, std::uint32_t signs);
  std::uint32_t (*table16)(std::uint32_t n, std::uint32_t t0, std::uint32_t t1, std::uint32_t t2, std::uint32_t t3);
  float (*half_to_float)(std::uint32_t bits);
  std::int32_t (*sign_extend8)(std::uint32_t byte);
  std::int32_t (*dot4)(std::uint32_t a, std::uint32_t b, std::int32_t sum);
};
extern const Overrides cuda_overrides;

}  // namespace lanewise::test
