// Runs the float kernels over ranges of rows: the part that needs no instruction set.
#include "backends/cpu/floats.h"

#include <algorithm>
#include <array>
#include <bit>

#include "arithmetic/canonical.h"
#include "arithmetic/scalar.h"
#include "backends/cpu/prefetch.h"
#include "backends/cpu/targets.h"
#include "base/checked.h"
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

// Sums of two batches of tokens, a slice, over up to sixteen rows.
struct Slice {
  static constexpr std::uint64_t batches = 2;
  static constexpr std::uint64_t tokens = batches * most_float_tokens;
  float sums[batches][8][most_float_tokens][most_float_rows];

  [[nodiscard]] float y(std::uint64_t t, std::uint64_t row) const {
    const auto& r = sums[t / most_float_tokens];
    std::array<float, eighths> of_row;
    for (std::uint32_t g = 0; g < eighths; ++g) of_row[g] = r[g][t % most_float_tokens][row];
    return fold_eighths(of_row);
  }
};

class FloatGemv {
 public:
  FloatGemv(const FloatKernels& kernels, const MatrixView& w, const Activation& x, const OutputView& y)
      : kernels_(kernels), w_(w), x_(x), y_(y), image_(float_image(w.format)), slots_(y.count(x.tokens())) {
    const std::uint64_t steps = (w.cols + 255) / 256;
    for (std::uint64_t g = 0; g < bounds_.size(); ++g) bounds_[g] = std::min((g * steps + 7) / 8 * 256, w.cols);
  }

  void rows(std::uint64_t row_begin, std::uint64_t row_end) const {
    // One token: a few rows from their first to their last bytes. More: an eighth of sixteen rows at a time, for which
    // x stays in the first cache; for a whole row, x is read from the second again and again (F16 at four and eight
    // tokens: 0.48 and 0.29 of the ceiling instead of 0.79 and 0.49).
    const std::uint64_t together = slots_ == 1 ? kernels_.side_by_side[0] : most_float_rows;
    FloatsCall call{};
    call.row_bytes = w_.row_bytes();
    call.bounds = bounds_.data();
    for (std::uint64_t row = row_begin; row < row_end; row += together) {
      call.rows = w_.data + row * w_.row_bytes();
      call.count = static_cast<std::uint32_t>(std::min(together, row_end - row));
      for (std::uint64_t first = 0; first < slots_; first += Slice::tokens) {
        slice(call, row, first, std::min(first + Slice::tokens, slots_));
      }
    }
  }

 private:
  // The outputs from slot `begin` to before `end`, of the rows from `row` on.
  void slice(FloatsCall& call, std::uint64_t row, std::uint64_t begin, std::uint64_t end) const {
    Slice sums;
    for (std::uint32_t g = 0; g < 8; g = call.last) {
      call.first = g;
      call.last = slots_ == 1 ? 8 : g + 1;
      for (std::uint64_t first = begin; first < end; first += most_float_tokens) {
        const std::uint64_t tokens = std::min<std::uint64_t>(most_float_tokens, end - first);
        const auto kernel = static_cast<std::size_t>(std::bit_width(tokens - 1));
        prefetch_from(call, kernels_.side_by_side[kernel]);
        // Three tokens run as four, the last one twice.
        for (std::uint64_t t = 0; t < most_float_tokens; ++t) {
          call.x[t] = x_.floats(image_, y_.slot(first + std::min(t, tokens - 1)).token).values;
        }
        call.sums = sums.sums[(first - begin) / most_float_tokens];
        kernels_.rows[kernel](call);
      }
    }
    for (std::uint64_t s = begin; s < end; ++s) {
      const OutputSlot slot = y_.slot(s);
      const bool poisoned = x_.is_poisoned(slot.token);
      for (std::uint32_t r = 0; r < call.count; ++r) {
        store_output(y_, slot.vector, row + r, poisoned ? std::bit_cast<float>(canonical_nan) : sums.y(s - begin, r));
      }
    }
  }
  void prefetch_from(FloatsCall& call, std::uint64_t side_by_side) const {
    const std::uint64_t row = w_.row_bytes();
    const std::uint64_t rows = side_by_side * row;
    if (call.last == 8 && call.first == 0) {
      // Of rows side by side those behind them, so that each line is asked for once.
      call.far =
          static_cast<std::ptrdiff_t>(side_by_side == 1 ? prefetch_ahead : ceil_div(prefetch_ahead, rows) * rows);
      call.near = static_cast<std::ptrdiff_t>(near_ahead / side_by_side);
      return;
    }
    // Of the same row the next eighth, after the last one that of the next sixteen rows; and the next rows'.
    const std::uint64_t bytes = w_.info().block_bytes;
    const std::uint64_t far = call.first < 7 ? (bounds_[call.first + 1] - bounds_[call.first]) * bytes
                                             : most_float_rows * row - bounds_[7] * bytes;
    call.far = static_cast<std::ptrdiff_t>(far);
    call.near = static_cast<std::ptrdiff_t>(rows);
  }

  const FloatKernels& kernels_;
  const MatrixView& w_;
  const Activation& x_;
  const OutputView& y_;
  Image image_;
  std::uint64_t slots_;
  std::array<std::uint64_t, 9> bounds_{};
};

template <Target target>
void gemv_floats(const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t row_begin,
                 std::uint64_t row_end) {
  const FloatEnvironment environment;
  FloatGemv(*find_floats(target, w.format), w, x, y).rows(row_begin, row_end);
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
