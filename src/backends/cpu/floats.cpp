// Runs the float kernels over ranges of rows: the part that needs no instruction set.
#include "backends/cpu/floats.h"

#include <algorithm>
#include <bit>

#include "arithmetic/canonical.h"
#include "arithmetic/scalar.h"
#include "backends/cpu/targets.h"
#include "base/float_env.h"
#include "kernels/kernel.h"

namespace lanewise {

#define LW_FLOATS(target, name, NAME) extern const FloatKernels floats_##target##_##name;
#include "backends/cpu/float_units.inc"
#undef LW_FLOATS

namespace {

// A build without units has nothing to find.
const FloatKernels* find_floats([[maybe_unused]] Target target, [[maybe_unused]] Format format) {
#define LW_FLOATS(target_, name, NAME) \
  if (target == Target::target_ && format == Format::NAME) return &floats_##target_##_##name;
#include "backends/cpu/float_units.inc"
#undef LW_FLOATS
  return nullptr;
}

template <Target target>
void gemv_floats(const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t row_begin,
                 std::uint64_t row_end) {
  const FloatEnvironment environment;
  const FloatKernels& kernels = *find_floats(target, w.format);
  const Image image = float_image(w.format);
  const std::uint64_t slots = y.count(x.tokens());
  for (std::uint64_t row = row_begin; row < row_end; ++row) {
    FloatsCall call{};
    call.row = w.data + row * w.row_bytes();
    call.cols = w.cols;
    for (std::uint64_t first = 0; first < slots; first += most_float_tokens) {
      const std::uint64_t tokens = std::min<std::uint64_t>(most_float_tokens, slots - first);
      // Three tokens run as four, the last one twice.
      for (std::uint64_t t = 0; t < most_float_tokens; ++t) {
        call.x[t] = x.floats(image, y.slot(first + std::min(t, tokens - 1)).token).values;
      }
      kernels.row[std::bit_width(tokens - 1)](call);
      for (std::uint64_t t = 0; t < tokens; ++t) {
        const OutputSlot slot = y.slot(first + t);
        const float value = x.is_poisoned(slot.token) ? std::bit_cast<float>(canonical_nan) : call.y[t];
        store_output(y, slot.vector, row, value);
      }
    }
  }
}

}  // namespace

#define LW_LAUNCH_CODES(target)
#define LW_LAUNCH_FLOATS(target)                                                                                \
  void gemv_floats_##target(const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t begin, \
                            std::uint64_t end) {                                                                \
    gemv_floats<Target::target>(w, x, y, begin, end);                                                           \
  }
#define LW_TARGET_ROW(target, architecture, floats, flags) LW_LAUNCH_##floats(target)
#include "backends/cpu/targets.def"
#undef LW_TARGET_ROW
#undef LW_LAUNCH_FLOATS
#undef LW_LAUNCH_CODES

}  // namespace lanewise
