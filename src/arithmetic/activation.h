// The activation: x held as block integers and power-of-two scales (docs/arithmetic.md, section 2), made once and
// shared by every matrix that reads it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "base/status.h"

namespace lanewise {

inline constexpr std::uint64_t super_block = 256;  ///< elements that share one exponent e
inline constexpr std::uint64_t sum_group =
    16;  ///< elements of the stored partial sums: the smallest group with a sub-min

/// How many int8 planes hold q.
enum class Planes : std::uint8_t { x8 = LW_X8, x16 = LW_X16, x24 = LW_X24 };
constexpr std::uint32_t plane_count(Planes planes) { return static_cast<std::uint32_t>(planes); }
std::string_view planes_name(Planes planes);
/// "x8", "x16", "x24".
Result<Planes> parse_planes(std::string_view name);
/// The largest |q|: 127, 32512, 8355711.
std::int32_t q_limit(Planes planes);

enum class Dtype : std::uint8_t { f32 = LW_DTYPE_F32, f16 = LW_DTYPE_F16, bf16 = LW_DTYPE_BF16 };
constexpr std::uint64_t dtype_bytes(Dtype dtype) { return dtype == Dtype::f32 ? 4 : 2; }

enum class Image : std::uint8_t {
#define LW_IMAGE(name, content, order) name,
#include "arithmetic/activations.def"
#undef LW_IMAGE
};
std::string_view image_name(Image image);

/// x as the caller holds it: token t at element t * stride of `data`.
struct InputView {
  const void* data = nullptr;
  Dtype dtype = Dtype::f32;
  std::uint64_t tokens = 0;
  std::uint64_t cols = 0;
  std::uint64_t stride = 0;  ///< 0: cols
};
/// The stride of x, from token to token in elements; LW_ERROR_ARGUMENT where an activation of so many columns and with
/// room for so many tokens can't be made of x.
Result<std::uint64_t> stride_of(const InputView& x, std::uint64_t cols, std::uint64_t max_tokens);

/// W times token `token` of x is vector `vector` of y.
struct OutputSlot {
  std::uint64_t token;
  std::uint64_t vector;
};

/// y: vector i at element i * stride of `data`. A kernel computes the outputs 0 .. count()-1, slot() of each: token i
/// in vector i for all tokens, or what `slots` lists (the tokens of an expert).
struct OutputView {
  void* data = nullptr;
  Dtype dtype = Dtype::f32;
  std::uint64_t stride = 0;
  const OutputSlot* slots = nullptr;
  std::uint64_t slot_count = 0;

  [[nodiscard]] std::uint64_t count(std::uint64_t tokens) const { return slots == nullptr ? tokens : slot_count; }
  [[nodiscard]] OutputSlot slot(std::uint64_t i) const { return slots == nullptr ? OutputSlot{i, i} : slots[i]; }
};

/// The `natural` image of one token. Elements past K are zero. P planes, lowest first.
struct NaturalToken {
  const std::int8_t* planes;      ///< [P][padded_cols]
  const std::int32_t* sums;       ///< [P][padded_cols / 16]: sums of 16 consecutive elements of a plane
  const std::int32_t* exponents;  ///< [blocks]: e
  const float* powers;            ///< [blocks]: 2^e
  std::uint64_t padded_cols;      ///< blocks * 256
  bool poisoned;                  ///< x held a NaN, an infinity or an |x| >= 2^64: every output is NaN

  [[nodiscard]] const std::int8_t* plane(std::uint32_t p) const { return planes + p * padded_cols; }
  [[nodiscard]] const std::int32_t* plane_sums(std::uint32_t p) const { return sums + p * (padded_cols / sum_group); }
};

/// An image for float weights, of one token.
struct FloatToken {
  const float* values;  ///< [padded_cols]
  bool poisoned;
};

/// The smallest e >= -80 with rint(amax * 2^-e) <= q_limit(planes); amax finite, below 2^64.
std::int32_t block_exponent(float amax, Planes planes);

/// One activation of up to `max_tokens` tokens. The memory is its own or the caller's; set() allocates nothing. After
/// set(), const members may be used by many threads at once.
class Activation {
 public:
  static constexpr std::size_t alignment = 64;

  /// Bytes that create_in() needs; an error where they don't fit 64 bits or cols is 0.
  static Result<std::uint64_t> workspace_bytes(Planes planes, std::uint64_t max_tokens, std::uint64_t cols);
  static Result<std::unique_ptr<Activation>> create(Planes planes, std::uint64_t max_tokens, std::uint64_t cols);
  static Result<std::unique_ptr<Activation>> create_in(Planes planes, std::uint64_t max_tokens, std::uint64_t cols,
                                                       void* memory, std::uint64_t bytes);
  ~Activation();
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;

  /// Converts x. The host's rounding mode and flush-to-zero settings change nothing.
  Outcome set(const InputView& x);

  [[nodiscard]] Planes planes() const { return planes_; }
  [[nodiscard]] std::uint64_t tokens() const { return tokens_; }
  [[nodiscard]] std::uint64_t max_tokens() const { return max_tokens_; }
  [[nodiscard]] std::uint64_t cols() const { return cols_; }
  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }

  [[nodiscard]] NaturalToken natural(std::uint64_t token) const;
  /// `image` is one whose content is FLOATS. Made at the first request, by one thread, once.
  [[nodiscard]] FloatToken floats(Image image, std::uint64_t token) const;
  /// Records of slice `slice` of eight tokens (arithmetic/columns.h). Made like floats().
  [[nodiscard]] const std::uint8_t* columns(std::uint64_t slice) const;
  /// Records of one token in a slice of its own, for kernels that take tokens singly.
  [[nodiscard]] const std::uint8_t* column(std::uint64_t token) const;
  [[nodiscard]] bool is_poisoned(std::uint64_t token) const { return poisoned_[token] != 0; }

 private:
  struct Layout;
  Activation(Planes planes, std::uint64_t max_tokens, std::uint64_t cols);
  void make_floats(Image image) const;
  template <class Make>
  void make_once(Image image, Make make) const;

  Planes planes_;
  std::uint64_t max_tokens_;
  std::uint64_t cols_;
  std::uint64_t blocks_;
  std::uint64_t tokens_ = 0;

  std::unique_ptr<std::byte[], void (*)(std::byte*)> owned_;
  float* x_ = nullptr;  // widened input, padded with zeros: lazily made images start from it
  std::int8_t* planes_data_ = nullptr;
  std::int32_t* sums_ = nullptr;
  std::int32_t* exponents_ = nullptr;
  float* powers_ = nullptr;
  std::uint8_t* poisoned_ = nullptr;

  std::uint8_t* columns_ = nullptr;
  std::uint8_t* columns1_ = nullptr;

  static constexpr std::size_t image_slots = 8;
  std::array<float*, image_slots> float_images_{};
  mutable std::array<std::atomic<bool>, image_slots> made_{};
  mutable std::mutex making_;
};

}  // namespace lanewise
