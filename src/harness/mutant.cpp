#include "harness/mutant.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "arithmetic/scalar.h"
#include "harness/compare.h"
#include "harness/fill_block.h"

namespace lanewise {
namespace {

struct FaultName {
  Fault fault;
  std::string_view name;
  std::string_view meaning;
};

constexpr FaultName fault_names[] = {
#define LW_FAULT(name, meaning) {Fault::name, #name, meaning},
#include "harness/faults.def"
#undef LW_FAULT
};

using SharedActivation = std::shared_ptr<Activation>;

Result<SharedActivation> activation_of(const std::vector<float>& x, std::uint64_t tokens, std::uint64_t cols,
                                       Planes planes) {
  LW_ASSIGN(made, Activation::create(planes, tokens, cols));
  LW_TRY(made->set({x.data(), Dtype::f32, tokens, cols, cols}));
  return SharedActivation(std::move(made));
}

// The sound kernel, then `spoil(row)` for each of its rows.
template <class Spoil>
Launch after(Spoil spoil) {
  return
      [spoil](const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t begin, std::uint64_t end) {
        gemv_scalar(w, x, y, begin, end);
        for (std::uint64_t row = begin; row < end; ++row) spoil(w, x, y, row);
      };
}

// `wrong` takes the place of one row's W and x.
template <class Wrong>
Launch one_row(std::uint64_t row, Wrong wrong) {
  return [row, wrong](const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t begin,
                      std::uint64_t end) {
    for (std::uint64_t r = begin; r < end; ++r) {
      if (r == row) {
        wrong(w, x, y);
      } else {
        gemv_scalar(w, x, y, r, r + 1);
      }
    }
  };
}

void scale(const Activation& x, const OutputView& y, std::uint64_t row, float factor) {
  for (std::uint64_t t = 0; t < x.tokens(); ++t) store_output(y, t, row, output_value(y, t, row) * factor);
}

// One row of other bytes, its output where it belongs.
Launch misread_row(std::uint64_t row, std::vector<std::uint8_t> bytes) {
  const auto shared = std::make_shared<std::vector<std::uint8_t>>(std::move(bytes));
  return one_row(row, [row, shared](const MatrixView& w, const Activation& x, const OutputView& y) {
    const MatrixView alone{w.format, 1, w.cols, shared->data()};
    const OutputView here{static_cast<std::uint8_t*>(y.data) + row * dtype_bytes(y.dtype), y.dtype, y.stride};
    gemv_scalar(alone, x, here, 0, 1);
  });
}

// Elements by falling |w * x| in token 0.
std::vector<std::uint64_t> by_weight(const MatrixView& w, std::uint64_t row, const float* x) {
  std::vector<float> decoded(w.cols);
  dequantize_row(w.format, w.row(row), w.cols, decoded.data());
  std::vector<std::uint64_t> order(w.cols);
  for (std::uint64_t k = 0; k < w.cols; ++k) order[k] = k;
  std::ranges::stable_sort(order, std::greater{}, [&](std::uint64_t k) { return std::fabs(decoded[k] * x[k]); });
  return order;
}

// Codes of a whole block.
template <class T>
std::vector<int> codes_of(const std::uint8_t* block) {
  std::vector<int> codes(T::info.block_elements);
  for (lw_u32 k = 0; k < T::info.block_elements; ++k) codes[k] = quad_code(Block<T>{block}.quad(k / 4), k % 4);
  return codes;
}

// Of all single bits that element k's code is read from, the one whose change moves its block's codes least in all but
// moves code k: by one, and it alone, where the format's fields are plain; a grid's neighbouring entry otherwise.
template <class T>
bool change_code(std::uint8_t* block, lw_u32 k) {
  const std::vector<int> before = codes_of<T>(block);
  long best = -1;
  lw_u32 best_part = 0;
  lw_u32 best_bit = 0;
  for (lw_u32 i = 0; i < T::quad_parts; ++i) {
    const LwPart part = T::quad_part(k / 4, i);
    for (lw_u32 bit = 0; bit < 32; ++bit) {
      if ((part.mask >> bit & 1U) == 0) continue;
      const lw_u32 held = read_part(block, part);
      write_part(block, part, held ^ (1U << bit));
      const std::vector<int> now = codes_of<T>(block);
      write_part(block, part, held);
      long moved = 0;
      for (std::size_t j = 0; j < now.size(); ++j) moved += std::abs(now[j] - before[j]);
      if (now[k] == before[k] || (best >= 0 && moved >= best)) continue;
      best = moved;
      best_part = i;
      best_bit = bit;
    }
  }
  if (best < 0) return false;
  const LwPart part = T::quad_part(k / 4, best_part);
  write_part(block, part, read_part(block, part) ^ (1U << best_bit));
  return true;
}

// A float weight has no code: its last bit, but none worth less than 2^-10 of it, as the sum would round that away.
template <class T>
void change_float(std::uint8_t* block) {
  constexpr lw_u32 bit = T::info.block_bytes == 4 ? 13 : 0;
  lw_u32 raw = 0;
  std::memcpy(&raw, block, T::info.block_bytes);
  raw ^= 1U << bit;
  std::memcpy(block, &raw, T::info.block_bytes);
}

Error no_room(Fault fault) {
  return make_error(LW_ERROR_UNSUPPORTED, "W and x leave no room for the fault " + std::string(fault_name(fault)));
}

Result<Mutant> off_by_one(const MatrixView& w, const float* x, std::uint64_t row) {
  std::vector<float> before(w.cols);
  std::vector<float> now(w.cols);
  dequantize_row(w.format, w.row(row), w.cols, before.data());
  for (const std::uint64_t k : by_weight(w, row, x)) {
    std::vector<std::uint8_t> bytes(w.row(row), w.row(row) + w.row_bytes());
    const bool changed = with_format(w.format, [&]<class T>(T) {
      std::uint8_t* block = bytes.data() + k / T::info.block_elements * T::info.block_bytes;
      if constexpr (T::info.is_float()) {
        change_float<T>(block);
        return true;
      } else {
        return change_code<T>(block, static_cast<lw_u32>(k % T::info.block_elements));
      }
    });
    if (!changed) continue;
    dequantize_row(w.format, bytes.data(), w.cols, now.data());
    if (now[k] == before[k]) continue;  // its sub-scale is 0
    return Mutant{misread_row(row, bytes), row, k, bytes};
  }
  return no_room(Fault::code_off_by_one);
}

Result<Mutant> neighbours_scale(const MatrixView& w, const float* x, std::uint64_t row) {
  std::vector<float> before(w.cols);
  std::vector<float> now(w.cols);
  dequantize_row(w.format, w.row(row), w.cols, before.data());
  const FormatInfo& info = w.info();
  const std::uint64_t blocks = w.cols / info.block_elements;
  // The block of the largest term whose neighbour (the one before, cyclically) has another scale.
  for (const std::uint64_t k : by_weight(w, row, x)) {
    const std::uint64_t b = k / info.block_elements;
    const std::uint64_t neighbour = (b == 0 ? blocks : b) - 1;
    std::vector<std::uint8_t> bytes(w.row(row), w.row(row) + w.row_bytes());
    std::uint8_t* block = bytes.data() + b * info.block_bytes;
    const std::uint8_t* other = w.row(row) + neighbour * info.block_bytes;
    with_format(w.format, [&]<class T>(T) {
      if constexpr (T::info.is_float()) {
        std::memcpy(block, other, T::info.block_bytes);
      } else {
        for (lw_u32 i = 0; i < fill_block::Fields<T>::dgroups; ++i) {
          write_field(block, T::d_parts, fill_block::Fields<T>::d(i), Block<T>{other}.scale_bits(i));
        }
      }
    });
    dequantize_row(w.format, bytes.data(), w.cols, now.data());
    if (now[k] == before[k]) continue;
    return Mutant{misread_row(row, bytes), row, k, bytes};
  }
  return no_room(Fault::neighbours_scale);
}

// A weight of the wrong sign is an x of the wrong sign for its row alone: amax, and so q's scale, stays what it was.
Result<Mutant> flipped(const MatrixView& w, const float* x, std::uint64_t tokens, Planes planes, std::uint64_t row) {
  const std::uint64_t k = by_weight(w, row, x).front();
  std::vector<float> other(x, x + tokens * w.cols);
  for (std::uint64_t t = 0; t < tokens; ++t) other[t * w.cols + k] = -other[t * w.cols + k];
  LW_ASSIGN(shared, activation_of(other, tokens, w.cols, planes));
  Mutant mutant;
  mutant.row = row;
  mutant.element = k;
  mutant.launch = one_row(row, [row, shared](const MatrixView& m, const Activation&, const OutputView& y) {
    gemv_scalar(m, *shared, y, row, row + 1);
  });
  return mutant;
}

// A block without its x adds nothing.
Result<Mutant> dropped(const MatrixView& w, const float* x, std::uint64_t tokens, Planes planes, std::uint64_t row) {
  const std::uint64_t block = w.info().block_elements;
  std::vector<float> other(x, x + tokens * w.cols);
  for (std::uint64_t t = 0; t < tokens; ++t) {
    const auto end = other.begin() + static_cast<std::ptrdiff_t>((t + 1) * w.cols);
    std::fill(end - static_cast<std::ptrdiff_t>(block), end, 0.0F);
  }
  LW_ASSIGN(shared, activation_of(other, tokens, w.cols, planes));
  Mutant mutant;
  mutant.row = row;
  mutant.element = w.cols - block;
  mutant.launch = [shared](const MatrixView& m, const Activation&, const OutputView& y, std::uint64_t begin,
                           std::uint64_t end) { gemv_scalar(m, *shared, y, begin, end); };
  return mutant;
}

// What the row gave for the x before: here, x with its tokens' elements in another order.
Result<Mutant> stale(const MatrixView& w, const float* x, std::uint64_t tokens, Planes planes, std::uint64_t row) {
  std::vector<float> earlier(x, x + tokens * w.cols);
  for (std::uint64_t t = 0; t < tokens; ++t) {
    const auto begin = earlier.begin() + static_cast<std::ptrdiff_t>(t * w.cols);
    std::rotate(begin, begin + static_cast<std::ptrdiff_t>(w.cols / 2), begin + static_cast<std::ptrdiff_t>(w.cols));
  }
  LW_ASSIGN(shared, activation_of(earlier, tokens, w.cols, planes));
  Mutant mutant;
  mutant.row = row;
  mutant.launch = after([row, shared](const MatrixView& m, const Activation&, const OutputView& y, std::uint64_t r) {
    if (r != row) return;
    std::vector<float> old(shared->tokens());
    gemv_scalar({m.format, 1, m.cols, m.row(row)}, *shared, {old.data(), Dtype::f32, 1}, 0, 1);
    store_output(y, 0, row, old[0]);
  });
  return mutant;
}

}  // namespace

std::string_view fault_name(Fault fault) { return std::ranges::find(fault_names, fault, &FaultName::fault)->name; }
std::string_view fault_meaning(Fault fault) {
  return std::ranges::find(fault_names, fault, &FaultName::fault)->meaning;
}

Result<Mutant> make_mutant(Fault fault, const MatrixView& w, const float* x, std::uint64_t tokens, Planes planes) {
  if (w.rows < 2) return no_room(fault);
  const std::uint64_t row = w.rows / 2;
  Mutant mutant;
  mutant.row = row;
  switch (fault) {
    case Fault::row_not_written:
      mutant.launch = one_row(row, [](const MatrixView&, const Activation&, const OutputView&) {});
      return mutant;
    case Fault::row_scaled:
      mutant.launch = after([row](const MatrixView&, const Activation& a, const OutputView& y, std::uint64_t r) {
        if (r == row) scale(a, y, r, 1.033F);
      });
      return mutant;
    case Fault::all_rows_scaled:
      mutant.launch = after(
          [](const MatrixView&, const Activation& a, const OutputView& y, std::uint64_t r) { scale(a, y, r, 1.02F); });
      return mutant;
    case Fault::rows_swapped: {
      const auto swapped = [row](std::uint64_t r) { return r == row ? row - 1 : (r == row - 1 ? row : r); };
      mutant.launch = [swapped](const MatrixView& m, const Activation& a, const OutputView& y, std::uint64_t begin,
                                std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r) {
          const MatrixView alone{m.format, 1, m.cols, m.row(swapped(r))};
          gemv_scalar(alone, a, {static_cast<std::uint8_t*>(y.data) + r * dtype_bytes(y.dtype), y.dtype, y.stride}, 0,
                      1);
        }
      };
      return mutant;
    }
    case Fault::last_block_dropped:
      return dropped(w, x, tokens, planes, row);
    case Fault::code_off_by_one:
      return off_by_one(w, x, row);
    case Fault::sign_flipped:
      return flipped(w, x, tokens, planes, row);
    case Fault::neighbours_scale:
      return neighbours_scale(w, x, row);
    case Fault::stale_output:
      return stale(w, x, tokens, planes, row);
  }
  return no_room(fault);
}

}  // namespace lanewise
