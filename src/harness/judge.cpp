#include "harness/judge.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "harness/compare.h"

namespace lanewise {
namespace {

// What rounding y once more to the output's type may add: half a unit in the last place, and of a subnormal, half the
// smallest number.
double output_rounding(Dtype dtype, double y) {
  if (dtype == Dtype::f16) return std::fabs(y) * 0x1p-11 + 0x1p-25;
  return dtype == Dtype::bf16 ? std::fabs(y) * 0x1p-8 + 0x1p-134 : 0;
}

// Past the largest number of the type, less its rounding, the result is an infinity.
double largest_output(Dtype dtype) { return dtype == Dtype::f16 ? 65504.0 : 0x1.FEp127; }

std::string share(std::uint64_t part, std::uint64_t whole, const char* what) {
  return std::to_string(part) + " of " + std::to_string(whole) + " " + what;
}

}  // namespace

void compare_weights(std::uint64_t row, std::span<const float> got, std::span<const float> expected, BitCount& count) {
  if (std::memcmp(got.data(), expected.data(), got.size_bytes()) == 0) {
    count.compared += got.size();
    return;
  }
  for (std::size_t k = 0; k < got.size(); ++k) {
    note_bits(count,
              {row, 0, k, std::bit_cast<std::uint32_t>(got[k]), std::bit_cast<std::uint32_t>(expected[k]), false});
  }
}

void compare_activation(const Activation& got, const oracle::Activation& expected, BitCount& count) {
  const auto bits = [](std::int32_t value) { return static_cast<std::uint32_t>(value); };
  for (std::uint64_t token = 0; token < got.tokens(); ++token) {
    const NaturalToken ours = got.natural(token);
    const bool poisoned = expected.poisoned[token] != 0;
    note_bits(count, {0, token, 0, ours.poisoned ? 1U : 0U, poisoned ? 1U : 0U, false});
    if (poisoned || ours.poisoned) continue;
    for (std::uint64_t b = 0; b < got.blocks(); ++b) {
      const int theirs = expected.e[token * got.blocks() + b];
      note_bits(count, {0, token, b * super_block, bits(ours.exponents[b]), bits(theirs), false});
    }
    for (std::uint64_t k = 0; k < got.cols(); ++k) {
      std::int32_t q = 0;
      for (std::uint32_t p = plane_count(got.planes()); p-- > 0;) q = q * 256 + ours.plane(p)[k];
      note_bits(count, {0, token, k, bits(q), bits(expected.q[token * got.cols() + k]), false});
    }
  }
}

ErrorCount compare_float64(const OutputView& y, std::uint64_t tokens, const Float64& reference) {
  ErrorCount count;
  count.rows = reference.rows.size();
  count.rows_of = reference.rows_of;
  for (std::size_t i = 0; i < reference.rows.size(); ++i) {
    for (std::uint64_t token = 0; token < tokens; ++token) {
      const oracle::Exact& exact = reference.exact[i * reference.tokens + token];
      ++count.outputs;
      const double rounding = output_rounding(y.dtype, exact.y);
      if (!std::isfinite(exact.bound) || std::fabs(exact.y) + exact.bound + rounding > largest_output(y.dtype)) {
        ++count.unbounded;
        continue;
      }
      const double bound = exact.bound + rounding;
      const double distance = std::fabs(static_cast<double>(output_value(y, token, reference.rows[i])) - exact.y);
      const double error = std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance;
      if (error > bound) ++count.outside;
      if (reference.unit != 0 && y.dtype == Dtype::f32 && exact.terms < reference.unit * 0x1p24) {
        ++count.integers;
        if (error != 0) ++count.not_exact;
      }
      const double ratio = error == 0 ? 0 : error / bound;
      if (ratio > count.worst_ratio) {
        count.worst_ratio = ratio;
        count.worst_row = reference.rows[i];
        count.worst_token = token;
      }
      const double relative = error == 0 ? 0 : error / exact.terms;
      if (relative > count.worst_relative) count.worst_relative = relative;
    }
  }
  return count;
}

std::string mistrust(std::span<const float> expected, std::uint64_t rows, std::uint64_t tokens,
                     const Float64& reference) {
  const std::uint64_t outputs = rows * tokens;
  std::uint64_t zeros = 0;
  std::uint64_t special = 0;
  bool same_everywhere = true;
  bool same_in_token = true;
  const auto bits = [&](std::uint64_t token, std::uint64_t row) {
    return std::bit_cast<std::uint32_t>(expected[token * rows + row]);
  };
  for (std::uint64_t token = 0; token < tokens; ++token) {
    for (std::uint64_t row = 0; row < rows; ++row) {
      const float value = expected[token * rows + row];
      if (value == 0) ++zeros;
      if (!std::isfinite(value)) ++special;
      same_in_token = same_in_token && bits(token, row) == bits(token, 0);
      same_everywhere = same_everywhere && bits(token, row) == bits(0, 0);
    }
  }
  if (2 * zeros > outputs) return share(zeros, outputs, "outputs are zero");
  if (2 * special > outputs) return share(special, outputs, "outputs are NaN or infinite");
  if (rows > 1 ? same_in_token : tokens > 1 && same_everywhere) return "the reference is constant";

  std::uint64_t bounded = 0;
  std::uint64_t loose = 0;
  for (std::size_t i = 0; i < reference.rows.size(); ++i) {
    for (std::uint64_t token = 0; token < tokens; ++token) {
      const oracle::Exact& exact = reference.exact[i * reference.tokens + token];
      if (!std::isfinite(exact.bound)) continue;
      ++bounded;
      if (exact.bound > exact.terms) ++loose;
    }
  }
  if (bounded == 0) return "no output has a finite bound against float64";
  if (2 * loose > bounded) return "the bound exceeds the sum of all terms in " + share(loose, bounded, "outputs");
  return {};
}

}  // namespace lanewise
