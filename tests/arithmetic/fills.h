// Weights and activations for the arithmetic's tests. Everything is made from the raw output of std::mt19937_64, whose
// sequence the standard fixes, so that a case is the same with every standard library.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "arithmetic/activation.h"
#include "formats/matrix_view.h"
#include "oracle/oracle.h"

namespace lanewise::trial {

/// The random numbers of one case.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  /// 0 .. count-1.
  std::uint64_t below(std::uint64_t count) { return engine_() % count; }
  /// first .. last.
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(last - first + 1)));
  }
  bool coin() { return (engine_() & 1) != 0; }
  /// In (-1, 1), 23 bits.
  float uniform() { return static_cast<float>(between(-0x7FFFFF, 0x7FFFFF)) * 0x1p-23F; }
  /// Near Gaussian, variance 1: twelve uniform numbers added.
  float gauss();

 private:
  std::mt19937_64 engine_;
};

/// Every format; the quantised ones; how a parametrised test is named after one.
std::vector<Format> all_formats();
std::vector<Format> code_formats();
std::string test_name(Format format);

enum class WeightFill : std::uint8_t {
  random_bytes,  ///< any d, m and weight: NaN, infinite, subnormal, negative zero
  tame,          ///< random codes and sub-scales, ordinary d and m
  largest,       ///< each sum of codes, sub-scale and sub-min as large as the format has it, ordinary d and m
  smallest,      ///< codes and sub-scales as small (negative) as the format has them, sub-mins at their largest
  widest,        ///< the codes and sub-scales of greatest magnitude
  mixed,         ///< group by group one of the three
};
enum class InputFill : std::uint8_t {
  gauss,
  wide,         ///< magnitudes from 2^-95 to 2^60
  random_bits,  ///< any bit pattern of the type below 2^64
  limit_plus,   ///< every q at +limit
  limit_minus,  ///< every q at -limit
  limit_signs,  ///< every |q| at the limit, signs at random
  low_byte,     ///< the low planes at -128, or at 127
  boundary,     ///< amax just below, at and just above (limit + 1/2) * 2^e
  near_power,   ///< amax within 1 % of a power of two
  zeros,        ///< 0, -0, and whole blocks of them
  subnormal,
  tiny,      ///< about 2^-81, where x begins to count
  poisoned,  ///< a NaN, an infinity or 2^64 in some tokens
  huge,      ///< 2^50 to 2^64
};

struct DataKind {
  WeightFill weights;
  InputFill input;
  std::string_view name;
};
/// What the tests walk.
inline constexpr std::array data_kinds = {
    DataKind{WeightFill::random_bytes, InputFill::gauss, "random bytes, Gaussian x"},
    DataKind{WeightFill::random_bytes, InputFill::random_bits, "random bytes, random bits of x"},
    DataKind{WeightFill::random_bytes, InputFill::huge, "random bytes, x up to 2^64"},
    DataKind{WeightFill::random_bytes, InputFill::zeros, "random bytes, zeros"},
    DataKind{WeightFill::random_bytes, InputFill::poisoned, "random bytes, poisoned tokens"},
    DataKind{WeightFill::tame, InputFill::gauss, "tame, Gaussian x"},
    DataKind{WeightFill::tame, InputFill::wide, "tame, wide x"},
    DataKind{WeightFill::tame, InputFill::boundary, "tame, amax at the limit's edge"},
    DataKind{WeightFill::tame, InputFill::near_power, "tame, amax near a power of two"},
    DataKind{WeightFill::tame, InputFill::zeros, "tame, zeros"},
    DataKind{WeightFill::tame, InputFill::subnormal, "tame, subnormal x"},
    DataKind{WeightFill::tame, InputFill::tiny, "tame, x about 2^-81"},
    DataKind{WeightFill::tame, InputFill::poisoned, "tame, poisoned tokens"},
    DataKind{WeightFill::largest, InputFill::limit_plus, "largest codes, q at +limit"},
    DataKind{WeightFill::largest, InputFill::limit_minus, "largest codes, q at -limit"},
    DataKind{WeightFill::smallest, InputFill::limit_plus, "smallest codes, q at +limit"},
    DataKind{WeightFill::smallest, InputFill::low_byte, "smallest codes, low planes at -128"},
    DataKind{WeightFill::widest, InputFill::limit_signs, "widest codes, |q| at the limit"},
    DataKind{WeightFill::mixed, InputFill::low_byte, "mixed extremes, low planes at -128"},
};

/// Bytes of a matrix.
std::vector<std::uint8_t> make_weights(Format format, std::uint64_t rows, std::uint64_t cols, WeightFill fill,
                                       Random& random);

/// x in its type, token t at t * stride; what lies between the rows is NaN.
struct Input {
  Dtype dtype = Dtype::f32;
  std::uint64_t tokens = 0, cols = 0, stride = 0;
  std::vector<std::uint8_t> bytes;

  [[nodiscard]] InputView view() const { return {bytes.data(), dtype, tokens, cols, stride}; }
  /// The rows without gaps, as the oracle takes them.
  [[nodiscard]] std::vector<std::uint8_t> packed() const;
};
Input make_input(InputFill fill, Planes planes, Dtype dtype, std::uint64_t tokens, std::uint64_t cols,
                 std::uint64_t stride, Random& random);
/// fp32 values as an input without gaps.
Input input_of(const std::vector<float>& x, std::uint64_t tokens);

oracle::Activation oracle_activation(const Input& x, Planes planes);

/// Extremes of a quantised format, found by trying every value of every field.
struct Extremes {
  std::int64_t code = 0;       ///< largest |c|
  std::int64_t sub_scale = 0;  ///< largest |sc|
  std::int64_t sub_min = 0;    ///< largest |mn|
};
Extremes extremes(Format format);

}  // namespace lanewise::trial
