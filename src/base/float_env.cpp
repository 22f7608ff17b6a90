#include "base/float_env.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#error "float_env.cpp: this architecture's floating-point control register is not known"
#endif

namespace lanewise {

#if defined(__x86_64__)

// MXCSR: all exceptions masked, round to nearest, FTZ and DAZ off.
FloatEnvironment::FloatEnvironment() : saved_(_mm_getcsr()) { _mm_setcsr(0x1F80u); }
FloatEnvironment::~FloatEnvironment() { _mm_setcsr(static_cast<unsigned>(saved_)); }

#else

// FPCR: zero is round to nearest, no flushing, no trapping, default-NaN off.
FloatEnvironment::FloatEnvironment() : saved_(0) {
  asm volatile("mrs %0, fpcr" : "=r"(saved_) : : "memory");
  asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}) : "memory");
}
FloatEnvironment::~FloatEnvironment() { asm volatile("msr fpcr, %0" : : "r"(saved_) : "memory"); }

#endif

}  // namespace lanewise
