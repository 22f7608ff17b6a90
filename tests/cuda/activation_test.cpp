// The kernels that make the image of x, over the emulator, against the activation that defines it, byte by byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/cuda/activation.cuh"
#include "base/half.h"
#include "cuda/image_of.h"

namespace lanewise::test {
namespace {

using cuda::ImageOffsets;
using cuda::ImageTask;

constexpr std::uint8_t untouched = 0xA5;

// What a super-block of x holds.
enum class Kind : std::uint8_t {
  gauss,
  at_limit,
  near_power,
  tiny,
  huge,
  zeros,
  subnormal,
  mixed,
  nan,
  infinite,
  too_large
};
constexpr std::array kinds = {Kind::gauss, Kind::at_limit, Kind::near_power, Kind::tiny,
                              Kind::huge,  Kind::zeros,    Kind::subnormal,  Kind::mixed,
                              Kind::nan,   Kind::infinite, Kind::too_large};
constexpr std::size_t sound_kinds = 8;

class Values {
 public:
  explicit Values(std::uint32_t seed) : random_(seed) {}

  float next(Kind kind, std::uint64_t position) {
    const float base = gauss_(random_);
    const bool first = position % 256 == 3;
    switch (kind) {
      case Kind::gauss:
        return base;
      case Kind::at_limit: {
        // amax on both sides of the limit of each number of planes, times a power of two.
        constexpr std::array limits = {127.0F, 32512.0F, 8355711.0F};
        if (!first) return std::clamp(base, -1.0F, 1.0F);
        const float limit = limits[random_() % 3];
        const std::array edges = {limit, limit + 0.5F, std::nextafter(limit + 0.5F, 0.0F), limit - 0.5F, limit + 1};
        return std::ldexp(edges[random_() % 5], static_cast<int>(random_() % 60) - 30) *
               (random_() % 2 == 0 ? 1.0F : -1.0F);
      }
      case Kind::near_power:
        return first ? std::nextafter(std::ldexp(1.0F, static_cast<int>(random_() % 100) - 60),
                                      random_() % 2 == 0 ? 0.0F : 0x1p99F)
                     : base * 0x1p-70F;
      case Kind::tiny:
        return base * 0x1p-84F;
      case Kind::huge:
        return first ? std::nextafter(0x1p64F, 0.0F) : base * 0x1p40F;
      case Kind::zeros:
        return random_() % 2 == 0 ? 0.0F : -0.0F;
      case Kind::subnormal:
        return std::bit_cast<float>(static_cast<std::uint32_t>(random_() & 0x807FFFFFu));
      case Kind::mixed:
        return std::ldexp(base, static_cast<int>(random_() % 80) - 60);
      case Kind::nan:
        return first ? std::bit_cast<float>(0xFFC12345u) : base;
      case Kind::infinite:
        return first ? -std::numeric_limits<float>::infinity() : base;
      case Kind::too_large:
        return first ? 0x1p64F : base;
    }
    return 0;
  }
  std::uint32_t random() { return static_cast<std::uint32_t>(random_()); }

 private:
  std::mt19937 random_;
  std::normal_distribution<float> gauss_{0.0F, 1.0F};
};

// x in its own type, at a stride, with what may not be read as NaNs around it.
struct X {
  std::vector<std::uint32_t> words;
  std::uint64_t offset;  // elements before the first
  std::uint64_t stride;
  Dtype dtype;

  [[nodiscard]] std::uint8_t* at(std::uint64_t token, std::uint64_t k) {
    return reinterpret_cast<std::uint8_t*>(words.data()) + (offset + token * stride + k) * dtype_bytes(dtype);
  }
  void put(std::uint64_t token, std::uint64_t k, float value) {
    if (dtype == Dtype::f32) {
      std::memcpy(at(token, k), &value, 4);
      return;
    }
    const std::uint16_t half = dtype == Dtype::f16 ? float_to_half(value) : float_to_bfloat(value);
    std::memcpy(at(token, k), &half, 2);
  }
  [[nodiscard]] float get(std::uint64_t token, std::uint64_t k) {
    if (dtype == Dtype::f32) {
      float value = 0;
      std::memcpy(&value, at(token, k), 4);
      return value;
    }
    std::uint16_t half = 0;
    std::memcpy(&half, at(token, k), 2);
    return dtype == Dtype::f16 ? half_to_float(half) : bfloat_to_float(half);
  }
};

struct Shape {
  std::uint64_t tokens;
  std::uint64_t cols;
  std::uint64_t offset;
  std::uint64_t gap;
};

void run_image(const ImageTask& task) {
  const auto grid = static_cast<std::uint32_t>(cuda::image_grid(task));
  cuda::emulator::launch(grid, 1, cuda::image_threads, sizeof(std::uint32_t), [&] {
    if (task.planes == 1) cuda::image_kernel<1>(task);
    if (task.planes == 2) cuda::image_kernel<2>(task);
    if (task.planes == 3) cuda::image_kernel<3>(task);
  });
}

void run_floats(const ImageTask& task) {
  const auto grid = static_cast<std::uint32_t>(cuda::floats_grid(task));
  for (std::uint32_t index = 0; index < 3; ++index) {
    cuda::emulator::launch(grid, 1, cuda::image_threads, 0, [&] { cuda::floats_kernel(task, index); });
  }
}

// The bytes that the kernels must have written, array by array; between them nothing may be touched.
void expect_same(const std::uint8_t* got, const std::vector<std::uint8_t>& expected, const ImageOffsets& at,
                 std::uint32_t slots, std::uint32_t planes, std::uint64_t blocks, const std::string& what) {
  const std::array starts = {at.codes,    at.halves, at.sums16,    at.sums32,   at.digits16,
                             at.digits32, at.powers, at.exponents, at.poisoned, at.xq};
  const std::array sizes = {blocks * 256 * slots * planes,
                            blocks * 256 * slots * planes,
                            blocks * 64 * slots * planes,
                            blocks * 32 * slots * planes,
                            blocks * 32 * slots * planes,
                            blocks * 32 * slots * planes,
                            blocks * 4 * slots,
                            blocks * 4 * slots,
                            std::uint64_t{32},
                            3 * blocks * 1024 * slots};
  const std::array names = {"codes",    "halves", "sums16",    "sums32",   "digits16",
                            "digits32", "powers", "exponents", "poisoned", "xq"};
  for (std::size_t i = 0; i < starts.size(); ++i) {
    ASSERT_EQ(std::memcmp(got + starts[i], expected.data() + starts[i], sizes[i]), 0) << what << ", " << names[i];
    const std::uint64_t next = i + 1 < starts.size() ? starts[i + 1] : at.x;
    for (std::uint64_t byte = starts[i] + sizes[i]; byte < next; ++byte) {
      ASSERT_EQ(got[byte], untouched) << what << ", byte " << byte << " after " << names[i];
    }
  }
}

void check(const Shape& shape, Planes planes, Dtype dtype, bool poison, std::uint32_t seed) {
  const std::uint64_t stride = shape.cols + shape.gap;
  const std::uint64_t elements = shape.offset + shape.tokens * stride + 8;
  X x{std::vector<std::uint32_t>(elements, 0xFFFFFFFFu), shape.offset, stride, dtype};
  X clean = x;
  Values values(seed);
  std::vector<std::uint32_t> bad(shape.tokens);
  for (std::uint64_t t = 0; t < shape.tokens; ++t) {
    for (std::uint64_t begin = 0; begin < shape.cols; begin += 256) {
      const bool any = poison && values.random() % 5 == 0;
      const Kind kind = kinds[any ? sound_kinds + values.random() % 3 : values.random() % sound_kinds];
      const std::uint64_t end = std::min(begin + 256, shape.cols);
      bool spoilt = false;
      for (std::uint64_t k = begin; k < end; ++k) {
        x.put(t, k, values.next(kind, k));
        spoilt = spoilt || !(std::fabs(x.get(t, k)) < 0x1p64F);  // a half may overflow
      }
      for (std::uint64_t k = begin; k < end; ++k) clean.put(t, k, spoilt ? 0.0F : x.get(t, k));
      if (spoilt) bad[t] = 1;
    }
  }
  auto activation = Activation::create(planes, shape.tokens, shape.cols);
  ASSERT_TRUE(activation.ok());
  ASSERT_TRUE((*activation)->set({clean.at(0, 0), dtype, shape.tokens, shape.cols, stride}).ok());

  const std::uint32_t count = plane_count(planes);
  const std::uint64_t blocks = (*activation)->blocks();
  const std::uint64_t bytes = cuda::image_bytes(shape.tokens, count, blocks);
  struct alignas(256) Chunk {
    std::uint8_t bytes[256];
  };
  std::vector<Chunk> memory(bytes / 256 + 1);
  std::memset(memory.data(), untouched, memory.size() * 256);
  auto* const image = reinterpret_cast<std::uint8_t*>(memory.data());
  ImageTask task;
  task.x = x.at(0, 0);
  task.tokens = shape.tokens;
  task.cols = shape.cols;
  task.stride = stride;
  task.dtype = static_cast<std::uint32_t>(dtype);
  task.planes = count;
  task.blocks = static_cast<std::uint32_t>(blocks);
  task.image = image;
  run_image(task);
  run_floats(task);

  for (std::uint64_t first = 0; first < shape.tokens; first += 8) {
    const auto tokens = static_cast<std::uint32_t>(std::min<std::uint64_t>(8, shape.tokens - first));
    const std::uint32_t slots = cuda::image_slots(tokens);
    const ImageOffsets at(slots, count, blocks);
    std::vector<std::uint8_t> expected = image_of(**activation, first, tokens);
    std::memcpy(expected.data() + at.poisoned, bad.data() + first, tokens * 4);
    expect_same(image + cuda::image_slice_at(first / 8, count, blocks), expected, at, slots, count, blocks,
                "K " + std::to_string(shape.cols) + ", " + std::to_string(shape.tokens) + " tokens, slice " +
                    std::to_string(first / 8) + ", " + std::string(planes_name(planes)) + ", type " +
                    std::to_string(static_cast<int>(dtype)) + ", seed " + std::to_string(seed));
  }
  for (std::uint64_t i = bytes; i < memory.size() * 256; ++i) ASSERT_EQ(image[i], untouched) << "behind the image";
}

class CudaImage : public testing::TestWithParam<Planes> {};

TEST_P(CudaImage, IsTheActivationByteByByte) {
  std::uint32_t seed = 1;
  for (const std::uint64_t cols : {32u, 64u, 256u, 288u, 1024u, 2048u, 4352u}) {
    for (const std::uint64_t tokens : {1u, 2u, 3u, 4u, 5u, 8u, 9u, 11u}) {
      if (cols == 4352 && tokens != 1 && tokens != 11) continue;
      for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
        // Every alignment of x, and of its tokens among each other.
        const Shape shape{tokens, cols, seed % 9, seed % 5 == 0 ? 0u : seed % 7};
        check(shape, GetParam(), dtype, seed % 3 == 0, seed);
        ++seed;
        if (HasFatalFailure()) return;
      }
    }
  }
}

// A warp takes several super-blocks here.
TEST_P(CudaImage, IsSoForLongK) {
  check({2, 33 * 256 + 64, 0, 0}, GetParam(), Dtype::f32, false, 7);
  check({1, 70 * 256, 4, 0}, GetParam(), Dtype::bf16, true, 8);
}

INSTANTIATE_TEST_SUITE_P(Planes, CudaImage, testing::Values(Planes::x8, Planes::x16, Planes::x24),
                         [](const auto& tested) { return std::string(planes_name(tested.param)); });

// Every fp16 there is, 256 at a time.
TEST(CudaImageEdges, TakesEveryHalf) {
  for (std::uint32_t base = 0; base < 0x10000u; base += 0x4000u) {
    X x{std::vector<std::uint32_t>(0x4000 / 2 + 4), 0, 0x4000, Dtype::f16};
    for (std::uint32_t i = 0; i < 0x4000u; ++i) {
      std::uint32_t half = base + i;
      if ((half & 0x7C00u) == 0x7C00u) half &= 0x3FFu;  // no infinities and NaNs here
      std::memcpy(x.at(0, i), &half, 2);
    }
    auto activation = Activation::create(Planes::x24, 1, 0x4000);
    ASSERT_TRUE(activation.ok() && (*activation)->set({x.at(0, 0), Dtype::f16, 1, 0x4000, 0x4000}).ok());
    const std::vector<std::uint8_t> expected = image_of(**activation, 0, 1);
    const ImageOffsets at(1, 3, 64);
    std::vector<uint4> image(at.bytes / sizeof(uint4));
    ImageTask task;
    task.x = x.at(0, 0);
    task.tokens = 1;
    task.cols = task.stride = 0x4000;
    task.dtype = 1;
    task.planes = 3;
    task.blocks = 64;
    task.image = reinterpret_cast<std::uint8_t*>(image.data());
    run_image(task);
    ASSERT_EQ(std::memcmp(image.data(), expected.data(), at.powers), 0) << base;
  }
}

}  // namespace
}  // namespace lanewise::test
