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

// FPCR: zero is round to nearest, no flushing, no trapping, default-NaN off. FPSR has the exception flags. Both are 32
// bits wide.
FloatEnvironment::FloatEnvironment() : saved_(0) {
  std::uint64_t flags = 0;
  asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(saved_), "=r"(flags) : : "memory");
  saved_ |= flags << 32;
  asm volatile("msr fpcr, xzr" : : : "memory");
}
FloatEnvironment::~FloatEnvironment() {
  asm volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(saved_ & 0xFFFFFFFFu), "r"(saved_ >> 32) : "memory");
}

#endif

}  // namespace lanewise
