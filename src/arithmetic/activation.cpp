#include "arithmetic/activation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>
#include <string>

#include "arithmetic/columns.h"
#include "base/checked.h"
#include "base/float_env.h"
#include "base/half.h"

namespace lanewise {
namespace {

constexpr std::int32_t least_exponent = -80;
constexpr float poison_bound = 18446744073709551616.0F;  // 2^64

// An image for float weights: the planes whose e it starts from, how much coarser it is, and its least exponent.
struct FloatRule {
  Image image;
  Planes planes;
  std::int32_t coarser;
};
// F16 keeps 13 bits of x, so that w * xq (11 + 13 bits) is exact; BF16 keeps 15 (8 + 15); F32 keeps 23, its products
// round.
constexpr std::array float_rules = {FloatRule{Image::xq_f16, Planes::x16, 2}, FloatRule{Image::xq_bf16, Planes::x16, 0},
                                    FloatRule{Image::xq_f32, Planes::x24, 0}};
constexpr std::int32_t least_float_exponent = -40;

constexpr std::size_t slot(Image image) { return static_cast<std::size_t>(image); }

float power_of_two(std::int32_t exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

// x[0..count) of the input, widened.
void widen(const InputView& x, std::uint64_t index, std::uint64_t count, float* out) {
  switch (x.dtype) {
    case Dtype::f16:
      for (std::uint64_t i = 0; i < count; ++i) {
        out[i] = half_to_float(static_cast<const std::uint16_t*>(x.data)[index + i]);
      }
      return;
    case Dtype::bf16:
      for (std::uint64_t i = 0; i < count; ++i) {
        out[i] = bfloat_to_float(static_cast<const std::uint16_t*>(x.data)[index + i]);
      }
      return;
    case Dtype::f32:
      break;
  }
  std::memcpy(out, static_cast<const float*>(x.data) + index, count * sizeof(float));
}

// The loops below are written for the compiler to make vectors of: by bits, since comparisons of floats
// would keep it from reordering, and without calls.

// The largest |x| as bits, whose order is that of the magnitudes; a NaN's lie above infinity's.
LW_NOINLINE std::int32_t largest_magnitude(const float* x, std::uint64_t count) {
  std::int32_t largest = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto magnitude = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(x[i]) & 0x7FFFFFFFu);
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest;
}

float largest_in(const float* block) { return std::bit_cast<float>(largest_magnitude(block, super_block)); }

// rint for |x| < 2^23: from there on an fp32 has no fraction, and the addition rounds as the mode says.
inline float round_to_integer(float x) {
  constexpr float first_whole = 8388608.0F;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const float magnitude = (std::bit_cast<float>(bits & 0x7FFFFFFFu) + first_whole) - first_whole;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | (bits & 0x80000000u));
}

// q of a super-block, split into int8 planes, lowest first.
LW_NOINLINE void quantise_block(const float* x, float inverse_power, std::uint32_t planes, std::int8_t* out,
                                std::uint64_t plane_stride, std::int32_t* sums, std::uint64_t sum_stride) {
  std::array<std::int32_t, super_block> rest;  // NOLINT(cppcoreguidelines-pro-type-member-init): written whole below
  for (std::uint64_t i = 0; i < super_block; ++i) {
    rest[i] = static_cast<std::int32_t>(round_to_integer(x[i] * inverse_power));
  }
  for (std::uint32_t p = 0; p < planes; ++p) {
    std::int8_t* plane = out + p * plane_stride;
    // What is left of the highest plane fits it.
    for (std::uint64_t i = 0; i < super_block; ++i) {
      const std::int32_t low = ((rest[i] + 128) & 255) - 128;
      plane[i] = static_cast<std::int8_t>(low);
      rest[i] = (rest[i] - low) >> 8;
    }
    for (std::uint64_t s = 0; s < super_block / sum_group; ++s) {
      std::int32_t sum = 0;
      for (std::uint64_t i = 0; i < sum_group; ++i) sum += plane[s * sum_group + i];
      sums[p * sum_stride + s] = sum;
    }
  }
}

LW_NOINLINE void round_block(const float* x, std::int32_t exponent, float* out) {
  const float power = power_of_two(exponent);
  const float inverse = power_of_two(-exponent);
  for (std::uint64_t i = 0; i < super_block; ++i) out[i] = round_to_integer(x[i] * inverse) * power;
}

}  // namespace

std::string_view planes_name(Planes planes) {
  constexpr std::array<std::string_view, 3> names = {"x8", "x16", "x24"};
  return names[plane_count(planes) - 1];
}

Result<Planes> parse_planes(std::string_view name) {
  for (const Planes planes : {Planes::x8, Planes::x16, Planes::x24}) {
    if (planes_name(planes) == name) return planes;
  }
  return make_error(LW_ERROR_NOT_FOUND, "no activation '" + std::string(name) + "': x8, x16 or x24");
}

std::int32_t q_limit(Planes planes) {
  constexpr std::array<std::int32_t, 3> limits = {127, 32512, 8355711};
  return limits[plane_count(planes) - 1];
}

std::string_view image_name(Image image) {
  constexpr std::array names = {
#define LW_IMAGE(name, content, order) std::string_view(#name),
#include "arithmetic/activations.def"
#undef LW_IMAGE
  };
  return names[slot(image)];
}

std::int32_t block_exponent(float amax, Planes planes) {
  if (!(amax > 0)) return least_exponent;
  // amax = m * 2^exponent, m in [1/2, 1). All limits lie between 2^(bits-1) and 2^bits, so e is exponent - bits, or one
  // more where the rounded mantissa passes the limit.
  const auto bits = static_cast<std::int32_t>(8 * plane_count(planes)) - 1;
  int exponent = 0;
  std::frexp(amax, &exponent);
  std::int32_t e = std::max(exponent - bits, least_exponent);
  if (std::nearbyint(amax * power_of_two(-e)) > static_cast<float>(q_limit(planes))) ++e;
  return e;
}

// Where each array of the workspace starts, in order.
struct Activation::Layout {
  std::uint64_t x = 0, planes = 0, sums = 0, exponents = 0, powers = 0, poisoned = 0, columns = 0, columns1 = 0,
                bytes = 0;
  std::array<std::uint64_t, image_slots> floats{};
  bool fits = true;

  Layout(Planes plane_kind, std::uint64_t tokens, std::uint64_t cols) {
    const std::uint64_t blocks = ceil_div(cols, super_block);
    const std::uint64_t count = plane_count(plane_kind);
    place(x, tokens, blocks, super_block * sizeof(float));
    place(planes, tokens, blocks, count * super_block);
    place(sums, tokens, blocks, count * (super_block / sum_group) * sizeof(std::int32_t));
    place(exponents, tokens, blocks, sizeof(std::int32_t));
    place(powers, tokens, blocks, sizeof(float));
    place(poisoned, tokens, 1, 1);
    place(columns, 1, blocks, all_column_bytes(tokens, static_cast<std::uint32_t>(count)));
    place(columns1, tokens, blocks, ColumnOffsets(1, static_cast<std::uint32_t>(count)).bytes);
    for (const FloatRule& rule : float_rules)
      place(floats[slot(rule.image)], tokens, blocks, super_block * sizeof(float));
  }

 private:
  void place(std::uint64_t& at, std::uint64_t tokens, std::uint64_t blocks, std::uint64_t unit) {
    at = bytes;
    auto size = checked_mul(tokens, blocks);
    if (size) size = checked_mul(*size, unit);
    if (size) size = checked_add(*size, bytes);
    if (size) size = checked_align(*size, alignment);
    fits = fits && size.has_value();
    bytes = size.value_or(bytes);
  }
};

Activation::Activation(Planes planes, std::uint64_t max_tokens, std::uint64_t cols)
    : planes_(planes),
      max_tokens_(max_tokens),
      cols_(cols),
      blocks_(ceil_div(cols, super_block)),
      owned_(nullptr, [](std::byte* memory) { ::operator delete[](memory, std::align_val_t{alignment}); }) {}

Activation::~Activation() = default;

Result<std::uint64_t> Activation::workspace_bytes(Planes planes, std::uint64_t max_tokens, std::uint64_t cols) {
  if (cols == 0) return make_error(LW_ERROR_ARGUMENT, "an activation of 0 columns: a matrix has at least one");
  const Layout layout(planes, max_tokens, cols);
  if (!layout.fits) {
    return make_error(LW_ERROR_ARGUMENT, "an activation of " + std::to_string(max_tokens) + " tokens of " +
                                             std::to_string(cols) + " columns doesn't fit 64 bits");
  }
  return layout.bytes;
}

Result<std::unique_ptr<Activation>> Activation::create(Planes planes, std::uint64_t max_tokens, std::uint64_t cols) {
  LW_ASSIGN(bytes, workspace_bytes(planes, max_tokens, cols));
  const std::uint64_t size = std::max<std::uint64_t>(bytes, alignment);
  auto* memory = static_cast<std::byte*>(::operator new[](size, std::align_val_t{alignment}, std::nothrow));
  if (memory == nullptr) {
    return make_error(LW_ERROR_MEMORY, "no memory for an activation of " + std::to_string(bytes) + " bytes");
  }
  auto made = create_in(planes, max_tokens, cols, memory, size);
  if (!made) {
    ::operator delete[](memory, std::align_val_t{alignment});
    return made;
  }
  (*made)->owned_.reset(memory);
  return made;
}

Result<std::unique_ptr<Activation>> Activation::create_in(Planes planes, std::uint64_t max_tokens, std::uint64_t cols,
                                                          void* memory, std::uint64_t bytes) {
  LW_ASSIGN(needed, workspace_bytes(planes, max_tokens, cols));
  if (bytes < needed || (memory == nullptr && needed != 0) ||
      reinterpret_cast<std::uintptr_t>(memory) % alignment != 0) {
    return make_error(LW_ERROR_ARGUMENT, "an activation needs " + std::to_string(needed) + " bytes aligned to " +
                                             std::to_string(alignment) + ", given " + std::to_string(bytes));
  }
  std::unique_ptr<Activation> made(new (std::nothrow) Activation(planes, max_tokens, cols));
  if (!made) return make_error(LW_ERROR_MEMORY, "no memory for an activation");
  const Layout layout(planes, max_tokens, cols);
  auto* base = static_cast<std::byte*>(memory);
  made->x_ = reinterpret_cast<float*>(base + layout.x);
  made->planes_data_ = reinterpret_cast<std::int8_t*>(base + layout.planes);
  made->sums_ = reinterpret_cast<std::int32_t*>(base + layout.sums);
  made->exponents_ = reinterpret_cast<std::int32_t*>(base + layout.exponents);
  made->powers_ = reinterpret_cast<float*>(base + layout.powers);
  made->poisoned_ = reinterpret_cast<std::uint8_t*>(base + layout.poisoned);
  made->columns_ = reinterpret_cast<std::uint8_t*>(base + layout.columns);
  made->columns1_ = reinterpret_cast<std::uint8_t*>(base + layout.columns1);
  for (const FloatRule& rule : float_rules) {
    made->float_images_[slot(rule.image)] = reinterpret_cast<float*>(base + layout.floats[slot(rule.image)]);
  }
  return made;
}

Result<std::uint64_t> stride_of(const InputView& x, std::uint64_t cols, std::uint64_t max_tokens) {
  if (x.cols != cols) {
    return make_error(LW_ERROR_ARGUMENT,
                      "x has " + std::to_string(x.cols) + " columns, the activation " + std::to_string(cols));
  }
  if (x.tokens > max_tokens) {
    return make_error(LW_ERROR_ARGUMENT, "x has " + std::to_string(x.tokens) + " tokens, the activation has room for " +
                                             std::to_string(max_tokens));
  }
  const std::uint64_t stride = x.stride == 0 ? x.cols : x.stride;
  if (stride < x.cols) {
    return make_error(LW_ERROR_ARGUMENT, "the stride of x is " + std::to_string(stride) + ", less than its " +
                                             std::to_string(x.cols) + " columns");
  }
  if (x.data == nullptr && x.tokens != 0) return make_error(LW_ERROR_ARGUMENT, "x is a null pointer");
  return stride;
}

Outcome Activation::set(const InputView& x) {
  LW_ASSIGN(stride, stride_of(x, cols_, max_tokens_));

  const FloatEnvironment environment;
  for (std::atomic<bool>& made : made_) made.store(false, std::memory_order_relaxed);
  tokens_ = x.tokens;
  const std::uint64_t padded = blocks_ * super_block;
  const std::uint32_t planes = plane_count(planes_);
  for (std::uint64_t t = 0; t < tokens_; ++t) {
    float* row = x_ + t * padded;
    widen(x, t * stride, cols_, row);
    std::fill(row + cols_, row + padded, 0.0F);
    const bool poisoned = largest_magnitude(row, padded) >= std::bit_cast<std::int32_t>(poison_bound);
    poisoned_[t] = poisoned ? 1 : 0;
    if (poisoned) std::fill(row, row + padded, 0.0F);  // its outputs are NaN whatever stands here
    for (std::uint64_t b = 0; b < blocks_; ++b) {
      const std::int32_t e = block_exponent(largest_in(row + b * super_block), planes_);
      exponents_[t * blocks_ + b] = e;
      powers_[t * blocks_ + b] = power_of_two(e);
      quantise_block(row + b * super_block, power_of_two(-e), planes,
                     planes_data_ + t * planes * padded + b * super_block, padded,
                     sums_ + (t * planes * padded + b * super_block) / sum_group, padded / sum_group);
    }
  }
  return Done{};
}

NaturalToken Activation::natural(std::uint64_t token) const {
  const std::uint64_t padded = blocks_ * super_block;
  const std::uint64_t start = token * plane_count(planes_) * padded;
  return {
      planes_data_ + start, sums_ + start / sum_group, exponents_ + token * blocks_, powers_ + token * blocks_, padded,
      poisoned_[token] != 0};
}

void Activation::make_floats(Image image) const {
  const FloatEnvironment environment;
  const auto rule = std::ranges::find(float_rules, image, &FloatRule::image);
  for (std::uint64_t b = 0; b < tokens_ * blocks_; ++b) {
    const float* x = x_ + b * super_block;
    const std::int32_t e = block_exponent(largest_in(x), rule->planes) + rule->coarser;
    round_block(x, std::max(e, least_float_exponent), float_images_[slot(image)] + b * super_block);
  }
}

template <class Make>
void Activation::make_once(Image image, Make make) const {
  std::atomic<bool>& made = made_[slot(image)];
  if (made.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(making_);
  if (made.load(std::memory_order_relaxed)) return;
  make();
  made.store(true, std::memory_order_release);
}

FloatToken Activation::floats(Image image, std::uint64_t token) const {
  make_once(image, [&] { make_floats(image); });
  return {float_images_[slot(image)] + token * blocks_ * super_block, poisoned_[token] != 0};
}

const std::uint8_t* Activation::columns(std::uint64_t slice) const {
  const std::uint64_t slice_bytes = blocks_ * slice_record_bytes(slice_tokens, plane_count(planes_));
  make_once(Image::columns, [&] {
    for (std::uint64_t first = 0; first < tokens_; first += slice_tokens) {
      const auto count = static_cast<std::uint32_t>(std::min(slice_tokens, tokens_ - first));
      make_columns(*this, first, count, columns_ + first / slice_tokens * slice_bytes);
    }
  });
  return columns_ + slice * slice_bytes;
}

const std::uint8_t* Activation::column(std::uint64_t token) const {
  const std::uint64_t token_bytes = blocks_ * slice_record_bytes(1, plane_count(planes_));
  make_once(Image::columns1, [&] {
    for (std::uint64_t t = 0; t < tokens_; ++t) make_columns(*this, t, 1, columns1_ + t * token_bytes);
  });
  return columns1_ + token * token_bytes;
}

}  // namespace lanewise
