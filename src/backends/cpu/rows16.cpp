// Runs the row-interleaved kernels over ranges of rows: the part that needs no instruction set.
#include "backends/cpu/rows16.h"

#include <algorithm>
#include <array>
#include <bit>

#include "arithmetic/canonical.h"
#include "arithmetic/columns.h"
#include "backends/cpu/cpu.h"
#include "backends/cpu/prefetch.h"
#include "backends/cpu/targets.h"
#include "base/float_env.h"
#include "kernels/kernel.h"
#include "layout/layout.h"
#include "layout/rows16.h"

namespace lanewise {

#define LW_ROWS16(target, name, NAME) extern const Rows16Kernels rows16_##target##_##name;
#include "backends/cpu/rows16_units.inc"
#undef LW_ROWS16

namespace {

// A build without units has nothing to find.
const Rows16Kernels* find_rows16([[maybe_unused]] Target target, [[maybe_unused]] Format format) {
#define LW_ROWS16(target_, name, NAME) \
  if (target == Target::target_ && format == Format::NAME) return &rows16_##target_##_##name;
#include "backends/cpu/rows16_units.inc"
#undef LW_ROWS16
  return nullptr;
}

class Rows {
 public:
  Rows(const Rows16Choice& kernels, const Activation& x, const OutputView& y)
      : kernels_(kernels), x_(x), y_(y), planes_(plane_count(x.planes())) {}

  /// Sixteen rows (fewer at the end) from `row` on, all tokens: weights are read from memory for the first slice only.
  void tile(Rows16Call call, std::uint64_t row, std::uint64_t begin, std::uint64_t end) const {
    const std::uint64_t slots = y_.slots == nullptr ? x_.tokens() : y_.slot_count;
    // Tokens picked singly (experts) have records of their own.
    const std::uint64_t step = y_.slots == nullptr ? slice_tokens : 1;
    for (std::uint64_t first = 0; first < slots; first += step) {
      const auto tokens = static_cast<std::uint32_t>(std::min(step, slots - first));
      call.x = y_.slots == nullptr ? x_.columns(first / slice_tokens) : x_.column(y_.slot(first).token);
      const std::uint32_t batch = batch_tokens(tokens, planes_);
      call.batches = static_cast<int>(slice_batches(tokens, planes_));
      std::array<float, slice_tokens * rows16_rows> values;
      call.y = values.data();
      kernels_.tile(planes_, batch)(call);
      for (std::uint32_t t = 0; t < tokens; ++t) store(first + t, row, begin, end, values.data() + t * rows16_rows);
    }
  }

 private:
  void store(std::uint64_t slot, std::uint64_t row, std::uint64_t begin, std::uint64_t end, const float* values) const {
    const OutputSlot where = y_.slot(slot);
    const bool poisoned = x_.is_poisoned(where.token);
    if (y_.dtype == Dtype::f32 && !poisoned) {
      // Sixteen calls a token would cost 2 to 8 % of a tile's time.
      auto* out = static_cast<float*>(y_.data) + where.vector * y_.stride;
      std::copy_n(values + (begin - row), end - begin, out + begin);
      return;
    }
    for (std::uint64_t r = begin; r < end; ++r) {
      store_output(y_, where.vector, r, poisoned ? std::bit_cast<float>(canonical_nan) : values[r - row]);
    }
  }

  Rows16Choice kernels_;
  const Activation& x_;
  const OutputView& y_;
  std::uint32_t planes_;
};

// A target's kernels, and those that run what it has none for.
template <Target target>
Rows16Choice choice(Format format) {
  if constexpr (target == Target::amx) return {*find_rows16(target, format), *find_rows16(Target::avx512, format)};
  return {*find_rows16(target, format), *find_rows16(target, format)};
}

// The best of the targets that the capabilities allow.
const Rows16Kernels* find_best(std::uint32_t capabilities, Format format) {
  if ((capabilities & CAP_AVX512) != 0) return find_rows16(Target::avx512, format);
  if ((capabilities & CAP_AVX2) != 0) return find_rows16(Target::avx2, format);
  if ((capabilities & CAP_NEON) != 0) return find_rows16(Target::neon, format);
  return nullptr;
}

void multiply_packed(const Rows16Choice& kernels, const MatrixView& w, const Activation& x, const OutputView& y,
                     std::uint64_t row_begin, std::uint64_t row_end, std::uint64_t ahead) {
  const FloatEnvironment environment;
  const Rows rows(kernels, x, y);
  const std::uint64_t tile_bytes = rows16_tile_bytes(w.info(), w.cols);
  for (std::uint64_t row = row_begin / rows16_rows * rows16_rows; row < row_end; row += rows16_rows) {
    Rows16Call call{};
    call.packed = w.data + row / rows16_rows * tile_bytes;
    call.cols = w.cols;
    call.ahead = ahead;
    rows.tile(call, row, std::max(row, row_begin), std::min(row + rows16_rows, row_end));
  }
}

}  // namespace

void gemv_rows16(const Rows16Choice& kernels, const MatrixView& w, const Activation& x, const OutputView& y,
                 std::uint64_t row_begin, std::uint64_t row_end) {
  multiply_packed(kernels, w, x, y, row_begin, row_end, prefetch_ahead);
}

void gemv_transposed(const Rows16Choice& kernels, const MatrixView& w, const Activation& x, const OutputView& y,
                     std::uint64_t row_begin, std::uint64_t row_end) {
  const FloatEnvironment environment;
  const Rows rows(kernels, x, y);
  const std::uint64_t stride = w.row_bytes();
  for (std::uint64_t row = row_begin; row < row_end; row += rows16_rows) {
    std::array<const std::uint8_t*, rows16_rows> pointers{};
    for (std::uint64_t r = 0; r < rows16_rows; ++r) pointers[r] = w.data + std::min(row + r, row_end - 1) * stride;
    Rows16Call call{};
    call.rows = pointers.data();
    call.cols = w.cols;
    // Rows are read side by side from what the last tile fetched in one sequence: sixteen streams at once reach 0.5 of
    // the read ceiling, one stream 0.66 and more (docs/cpu.md).
    call.next = w.data + (row + rows16_rows) * stride;
    rows.tile(call, row, row, std::min(row + rows16_rows, row_end));
  }
}

void cpu_pack(std::uint32_t capabilities, Layout layout, const MatrixView& raw, std::uint64_t unit_begin,
              std::uint64_t unit_end, std::uint8_t* out) {
  const Rows16Kernels* kernels = layout == Layout::rows16 ? find_best(capabilities, raw.format) : nullptr;
  const std::uint64_t stride = raw.row_bytes();
  // Tiles of sixteen rows; the last one may have fewer, and is filled up by the portable text.
  const std::uint64_t whole = kernels == nullptr ? unit_begin : std::min(unit_end, raw.rows / rows16_rows);
  for (std::uint64_t tile = unit_begin; tile < whole; ++tile) {
    std::array<const std::uint8_t*, rows16_rows> rows{};
    for (std::uint64_t r = 0; r < rows16_rows; ++r) rows[r] = raw.data + (tile * rows16_rows + r) * stride;
    kernels->pack(rows.data(), raw.cols, out + tile * rows16_tile_bytes(raw.info(), raw.cols));
  }
  const std::uint64_t rest = std::max(unit_begin, whole);
  if (rest < unit_end) pack_matrix(layout, raw, rest, unit_end, out);
}

#define LW_TARGET_ROW(target, architecture, floats, flags)                                                      \
  void gemv_raw_##target(const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t begin,    \
                         std::uint64_t end) {                                                                   \
    gemv_transposed(choice<Target::target>(w.format), w, x, y, begin, end);                                     \
  }                                                                                                             \
  void gemv_packed_##target(const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t begin, \
                            std::uint64_t end) {                                                                \
    gemv_rows16(choice<Target::target>(w.format), w, x, y, begin, end);                                         \
  }
#include "backends/cpu/targets.def"
#undef LW_TARGET_ROW

namespace {

using AheadLaunch = void (*)(const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t row_begin,
                             std::uint64_t row_end, std::uint64_t ahead);

template <Target target>
void multiply_ahead(const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t row_begin,
                    std::uint64_t row_end, std::uint64_t ahead) {
  multiply_packed(choice<target>(w.format), w, x, y, row_begin, row_end, ahead);
}

AheadLaunch with_distance([[maybe_unused]] CpuLaunch launch) {
#define LW_TARGET_ROW(target, architecture, floats, flags) \
  if (launch == &gemv_packed_##target) return multiply_ahead<Target::target>;
#include "backends/cpu/targets.def"
#undef LW_TARGET_ROW
  return nullptr;
}

}  // namespace

bool prefetches_ahead(const KernelDesc& kernel) { return with_distance(kernel.launch) != nullptr; }

void cpu_launch(const KernelDesc& kernel, std::uint32_t ahead, const MatrixView& w, const Activation& x,
                const OutputView& y, std::uint64_t row_begin, std::uint64_t row_end) {
  const AheadLaunch tuned = ahead == 0 ? nullptr : with_distance(kernel.launch);
  if (tuned != nullptr) {
    tuned(w, x, y, row_begin, row_end, ahead);
  } else {
    kernel.launch(w, x, y, row_begin, row_end);
  }
}

}  // namespace lanewise
