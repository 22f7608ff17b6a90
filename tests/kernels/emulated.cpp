#include "kernels/emulated.h"

#include <array>

#include "backends/cpu/rows16.h"

namespace lanewise {

#define LW_ROWS16(target, name, NAME)              \
  extern const Rows16Kernels rows16_avx512_##name; \
  extern const Rows16Kernels rows16_##target##_##name;
#include "kernels/emulated_units.inc"
#undef LW_ROWS16

namespace test {
namespace {

Rows16Choice choice(Format format) {
#define LW_ROWS16(target, name, NAME) \
  if (format == Format::NAME) return {rows16_##target##_##name, rows16_avx512_##name};
#include "kernels/emulated_units.inc"
#undef LW_ROWS16
  __builtin_unreachable();
}
void gemv_packed(const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t begin,
                 std::uint64_t end) {
  gemv_rows16(choice(w.format), w, x, y, begin, end);
}
void gemv_raw(const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t begin, std::uint64_t end) {
  gemv_transposed(choice(w.format), w, x, y, begin, end);
}

constexpr std::array emulated = {
    KernelDesc{"cpu", "amx", FormatClass::CODES, Layout::rows16, Tile{16}, CAP_AVX512, gemv_packed},
    KernelDesc{"cpu", "amx", FormatClass::CODES, Layout::raw, Tile{16}, CAP_AVX512, gemv_raw},
};

}  // namespace

std::span<const KernelDesc> emulated_kernels() { return emulated; }

}  // namespace test
}  // namespace lanewise
