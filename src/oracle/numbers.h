// Number helpers of the oracle that are not part of its interface.
#pragma once

#include <bit>
#include <cfenv>
#include <cstddef>
#include <cstdint>

namespace lanewise::oracle {

inline std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// 2^n as a double, -1022 <= n <= 1023.
inline double power_of_two(int n) { return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52); }

// Puts the default environment (nearest-even, no flushing of subnormals) in force for a scope. The functions
// that hold one call their work through functions that are not inlined, so that no operation can be moved
// across its ends.
class DefaultEnvironment {
 public:
  DefaultEnvironment();
  ~DefaultEnvironment();
  DefaultEnvironment(const DefaultEnvironment&) = delete;
  DefaultEnvironment& operator=(const DefaultEnvironment&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace lanewise::oracle
