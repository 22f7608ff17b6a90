#include "bench_ceiling.h"

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lanewise::program {
namespace {

#if defined(__x86_64__)

enum class Ahead : std::uint8_t { none, t0_2k, t1_4k, t1_16k };

// Written as assembly, since compilers gather the prefetches of an unrolled loop into one burst. What lies past the
// end of the memory is never faulted in: a prefetch is a hint.
#define LW_PREFETCH(hint, address) asm volatile("prefetch" hint " %0" ::"m"(*(address)))
template <Ahead ahead>
[[gnu::always_inline]] inline void prefetch_line(const std::uint8_t* line) {
  if constexpr (ahead == Ahead::t0_2k) LW_PREFETCH("t0", line + 2048);
  if constexpr (ahead == Ahead::t1_4k) LW_PREFETCH("t1", line + 4096);
  if constexpr (ahead == Ahead::t1_16k) LW_PREFETCH("t1", line + 16384);
}
#undef LW_PREFETCH

// Eight loads a step into registers that nobody reads: volatile assembly, so that none is left out.
template <Ahead ahead>
void read_sse2(const std::uint8_t* p, std::uint64_t bytes) {
  for (const std::uint8_t* end = p + bytes; p != end; p += 64) {
    prefetch_line<ahead>(p);
    for (int i = 0; i < 64; i += 16) {
      __m128i value = _mm_load_si128(reinterpret_cast<const __m128i*>(p + i));
      asm volatile("" ::"x"(value));
    }
  }
}

template <Ahead ahead>
[[gnu::target("avx2")]] void read_avx2(const std::uint8_t* p, std::uint64_t bytes) {
  for (const std::uint8_t* end = p + bytes; p != end; p += 64) {
    prefetch_line<ahead>(p);
    __m256i low;
    __m256i high;
    asm volatile("vmovdqa %2, %0\n\tvmovdqa %3, %1"
                 : "=&x"(low), "=&x"(high)
                 : "m"(*reinterpret_cast<const __m256i*>(p)), "m"(*reinterpret_cast<const __m256i*>(p + 32)));
  }
}

template <Ahead ahead>
[[gnu::target("avx512f")]] void read_avx512(const std::uint8_t* p, std::uint64_t bytes) {
  for (const std::uint8_t* end = p + bytes; p != end; p += 64) {
    prefetch_line<ahead>(p);
    __m512i value;
    asm volatile("vmovdqa64 %1, %0" : "=v"(value) : "m"(*reinterpret_cast<const __m512i*>(p)));
  }
}

#define LW_READ_LOOPS(isa)                                                                               \
  std::array {                                                                                           \
    ReadLoop{#isa " plain", read_##isa<Ahead::none>}, ReadLoop{#isa " t0 2K", read_##isa<Ahead::t0_2k>}, \
        ReadLoop{#isa " t1 4K", read_##isa<Ahead::t1_4k>}, ReadLoop {                                    \
#isa " t1 16K", read_##isa < Ahead::t1_16k>                                                        \
    }                                                                                                    \
  }

#else

void read_words(const std::uint8_t* p, std::uint64_t bytes) {
  for (const std::uint8_t* end = p + bytes; p != end; p += 64) {
    for (int i = 0; i < 64; i += 8) (void)*reinterpret_cast<const volatile std::uint64_t*>(p + i);
  }
}
void read_words_ahead(const std::uint8_t* p, std::uint64_t bytes) {
  for (const std::uint8_t* end = p + bytes; p != end; p += 64) {
    __builtin_prefetch(p + 2048);
    for (int i = 0; i < 64; i += 8) (void)*reinterpret_cast<const volatile std::uint64_t*>(p + i);
  }
}

#endif

}  // namespace

std::span<const ReadLoop> read_loops() {
#if defined(__x86_64__)
  static constexpr auto sse2 = LW_READ_LOOPS(sse2);
  static constexpr auto avx2 = LW_READ_LOOPS(avx2);
  static constexpr auto avx512 = LW_READ_LOOPS(avx512);
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return avx512;
  if (__builtin_cpu_supports("avx2")) return avx2;
  return sse2;
#else
  static constexpr std::array words{ReadLoop{"words plain", read_words}, ReadLoop{"words ahead 2K", read_words_ahead}};
  return words;
#endif
}

}  // namespace lanewise::program
