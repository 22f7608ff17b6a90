#include "harness/fill.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/half.h"
#include "harness/fill_block.h"

namespace lanewise {
namespace {

struct FillName {
  Fill fill;
  std::string_view name;
  std::string_view meaning;
};

constexpr FillName fill_names[] = {
#define LW_FILL(name, meaning) {Fill::name, #name, meaning},
#include "harness/fills.def"
#undef LW_FILL
};

// x draws from streams of its own: the rows' streams have the same numbers.
constexpr std::uint64_t x_streams = 0x7820766563746F72U;

void store(double value, Dtype dtype, void* data, std::uint64_t at) {
  const auto single = static_cast<float>(value);
  if (dtype == Dtype::f32) {
    static_cast<float*>(data)[at] = single;
  } else {
    static_cast<std::uint16_t*>(data)[at] = dtype == Dtype::f16 ? float_to_half(single) : float_to_bfloat(single);
  }
}

// amax at the edges of e for each plane count, and around powers of two; the others up to it, in one sign or both.
void extreme_x(std::vector<double>& x, Random& random, std::uint64_t token) {
  for (std::size_t first = 0; first < x.size(); first += super_block) {
    const std::size_t last = std::min<std::size_t>(first + super_block, x.size());
    const double power = std::ldexp(1.0, static_cast<int>(random.below(20)) - 10);
    // The largest amax that keeps e: rint(amax * 2^-e) <= limit holds up to limit + 1/2, a tie that goes to even.
    const double limits[] = {127.0 / 64, 127.5 / 64, 32512.0 / 16384, 32512.5 / 16384, 8355711.0 / 4194304, 1.0,
                             1.99,       1.01};
    double amax = limits[random.below(std::size(limits))];
    const auto single = static_cast<float>(amax);
    const std::uint64_t side = random.below(3);
    if (side == 0) amax = static_cast<double>(std::nextafterf(single, 0.0F));
    if (side == 1) amax = static_cast<double>(std::nextafterf(single, 4.0F));
    const bool full = random.below(2) == 0;
    for (std::size_t k = first; k < last; ++k) {
      const double size = full ? 1.0 : std::fabs(random.uniform());
      const bool negative = token % 2 != 0 && random.below(2) == 0;
      x[k] = (negative ? -amax : amax) * power * size;
    }
    x[first + random.below(last - first)] = amax * power;
  }
}

void raw_x(std::vector<double>& x, Random& random, std::uint64_t token, Dtype dtype) {
  // Twenty octaves a super-block, anywhere in the type's range: over all of it one term would rule each sum.
  for (std::size_t first = 0; first < x.size(); first += super_block) {
    const int top = dtype == Dtype::f16 ? static_cast<int>(random.below(15)) : static_cast<int>(random.below(93)) - 30;
    const std::size_t last = std::min<std::size_t>(first + super_block, x.size());
    for (std::size_t k = first; k < last; ++k) x[k] = random.magnitude(top - 20, top);
  }
  if (token % 4 != 3) return;
  const double poisons[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity(), 0x1p64};
  const double poison = poisons[random.below(dtype == Dtype::f16 ? 3 : 4)];
  x[random.below(x.size())] = poison;
}

// Partners a block apart where there are two blocks (fill_weights repeats them so), neighbours otherwise.
void cancel_x(std::vector<double>& x, Random& random, std::uint64_t block) {
  const std::uint64_t apart = block < x.size() ? block : 1;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const bool second = k / apart % 2 == 1;
    x[k] = second ? -x[k - apart] * (1 + random.uniform() * 0x1p-6) : random.gauss();
  }
  if (const std::size_t paired = x.size() / (2 * apart) * (2 * apart); paired != 0) {
    for (std::size_t k = paired; k < x.size(); ++k) x[k] *= 0x1p-10;
  }
}

void spike_x(std::vector<double>& x, Random& random) {
  for (double& value : x) {
    value = random.gauss();
    if (random.below(100) == 0) value *= 30;
  }
  for (int i = 0; i < 4; ++i) {
    const double spike = 120 * random.gauss();
    x[random.below(x.size())] = spike;
  }
}

void make_x(std::vector<double>& x, Fill fill, Random& random, std::uint64_t block, std::uint64_t token, Dtype dtype) {
  switch (fill) {
    case Fill::gauss:
      for (double& value : x) value = random.gauss();
      return;
    case Fill::random:
      for (double& value : x) value = random.uniform();
      return;
    case Fill::exact:
      // No zeros: one would make every output of a K of 1 zero.
      for (double& value : x) {
        const std::uint64_t size = random.below(3) + 1;
        value = random.below(2) == 0 ? static_cast<double>(size) : -static_cast<double>(size);
      }
      return;
    case Fill::cancel:
      cancel_x(x, random, block);
      return;
    case Fill::spikes:
      spike_x(x, random);
      return;
    case Fill::wide:
      for (double& value : x) value = random.magnitude(-23, 13);
      return;
    case Fill::extreme:
      extreme_x(x, random, token);
      return;
    case Fill::raw:
      raw_x(x, random, token, dtype);
      return;
  }
}

}  // namespace

std::string_view fill_name(Fill fill) {
  const auto* const entry = std::ranges::find(fill_names, fill, &FillName::fill);
  return entry == std::end(fill_names) ? "?" : entry->name;
}

std::string_view fill_meaning(Fill fill) {
  const auto* const entry = std::ranges::find(fill_names, fill, &FillName::fill);
  return entry == std::end(fill_names) ? "?" : entry->meaning;
}

Result<Fill> parse_fill(std::string_view name) {
  std::string known;
  for (const FillName& entry : fill_names) {
    if (entry.name == name) return entry.fill;
    known.append(known.empty() ? "" : ", ").append(entry.name);
  }
  return make_error(LW_ERROR_NOT_FOUND, "'" + std::string(name) + "' is no fill: " + known);
}

std::uint64_t Random::mix(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

double Random::gauss() {
  std::uint64_t sum = 0;
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t four = next();
    for (unsigned shift = 0; shift < 64; shift += 16) sum += four >> shift & 0xFFFFU;
  }
  // Twelve numbers of mean 65535 / 2 and variance (2^32 - 1) / 12.
  return static_cast<double>(static_cast<std::int64_t>(sum) - std::int64_t{6} * 65535) * 0x1p-16;
}

double Random::magnitude(int low, int high) {
  const int n = low + static_cast<int>(below(static_cast<std::uint64_t>(high - low + 1)));
  const double mantissa = 1 + static_cast<double>(below(1U << 23U)) * 0x1p-23;
  return std::ldexp(below(2) == 0 ? mantissa : -mantissa, n);
}

void fill_weights(Format format, std::uint64_t cols, Fill fill, std::uint64_t seed, std::uint64_t row_begin,
                  std::uint64_t row_end, std::uint8_t* data) {
  with_format(format, [&]<class T>(T) {
    const std::uint64_t blocks = cols / T::info.block_elements;
    const fill_block::Spread spread = fill_block::spread_of<T>();
    for (std::uint64_t row = row_begin; row < row_end; ++row) {
      Random random(seed, row);
      std::uint8_t* block = data + row * blocks * T::info.block_bytes;
      for (std::uint64_t b = 0; b < blocks; ++b, block += T::info.block_bytes) {
        if (fill == Fill::cancel && b % 2 == 1) {
          std::memcpy(block, block - T::info.block_bytes, T::info.block_bytes);
        } else {
          fill_block::make<T>(block, fill, spread, random, row);
        }
      }
    }
  });
}

void fill_x(Format format, std::uint64_t tokens, std::uint64_t cols, Fill fill, std::uint64_t seed, Dtype dtype,
            void* data) {
  std::vector<double> x(cols);
  for (std::uint64_t token = 0; token < tokens; ++token) {
    Random random(seed ^ x_streams, token);
    make_x(x, fill, random, format_info(format).block_elements, token, dtype);
    for (std::uint64_t k = 0; k < cols; ++k) store(x[k], dtype, data, token * cols + k);
  }
}

double exact_unit(Format format) { return format_info(format).is_float() ? 1.0 : 0.5; }

}  // namespace lanewise
