// The floating-point state that the arithmetic is defined for: round to nearest, no flushing of subnormals.
#pragma once

#include <cstdint>

namespace lanewise {

/// Sets that state for a scope and restores the caller's at its end (control bits and exception flags alike). Code
/// whose bits depend on it must stand in a function of its own that the scope calls (`LW_NOINLINE`), or the compiler
/// may move operations out of the scope.
class FloatEnvironment {
 public:
  FloatEnvironment();
  ~FloatEnvironment();
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  std::uint64_t saved_;
};

}  // namespace lanewise

#define LW_NOINLINE __attribute__((noinline))
