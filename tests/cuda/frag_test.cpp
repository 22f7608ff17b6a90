// The `frag` kernels over the emulator: every format, mode and shape against the scalar kernel, and the layout there
// and back.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "arithmetic/scalar.h"
#include "backends/cuda/frag_plan.h"
#include "backends/cuda/launch.h"
#include "cuda/image_of.h"

namespace lanewise::cuda {

#define LW_FORMAT(name, NAME, id, elements, bytes, group, dgroup, bits, kind, min, grid) LW_DECLARE_##kind(name)
#define LW_DECLARE_FLOAT(name)
#define LW_DECLARE_EXP(name) LW_DECLARE_HALF(name)
#define LW_DECLARE_HALF(name)                                                                    \
  int launch_frag_##name(const Launch&, void*);                                                  \
  int pack_frag_##name(const std::uint8_t*, std::uint64_t, std::uint64_t, std::uint8_t*, void*); \
  int unpack_frag_##name(const std::uint8_t*, std::uint64_t, std::uint64_t, std::uint8_t*, void*);
#include "formats/formats.def"
#undef LW_FORMAT

namespace {

using Pack = int (*)(const std::uint8_t*, std::uint64_t, std::uint64_t, std::uint8_t*, void*);
struct Unit {
  Format format;
  Launcher launch;
  Pack pack, unpack;
};
const std::vector<Unit>& units() {
#define LW_UNIT_FLOAT(name, NAME)
#define LW_UNIT_EXP(name, NAME) LW_UNIT_HALF(name, NAME)
#define LW_UNIT_HALF(name, NAME) {Format::NAME, launch_frag_##name, pack_frag_##name, unpack_frag_##name},
  static const std::vector<Unit> all = {
#define LW_FORMAT(name, NAME, id, elements, bytes, group, dgroup, bits, kind, min, grid) LW_UNIT_##kind(name, NAME)
#include "formats/formats.def"
#undef LW_FORMAT
  };
  return all;
}

// Memory aligned as a device's is.
class Aligned {
 public:
  explicit Aligned(std::size_t bytes)
      : data_(static_cast<std::uint8_t*>(std::aligned_alloc(256, (bytes + 511) / 256 * 256))) {}
  ~Aligned() { std::free(data_); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  [[nodiscard]] std::uint8_t* data() const { return data_; }

 private:
  std::uint8_t* data_;
};

struct Matrix {
  MatrixView view;
  std::vector<std::uint8_t> bytes;
  Matrix(Format format, std::uint64_t cols, std::uint64_t rows, std::uint64_t seed) {
    view.format = format;
    view.rows = rows;
    view.cols = cols;
    bytes.resize(view.bytes());
    std::mt19937_64 random(seed);
    std::ranges::generate(bytes, [&] { return static_cast<std::uint8_t>(random()); });
    view.data = bytes.data();
  }
};

class Frag : public testing::TestWithParam<std::size_t> {
 protected:
  const Unit& unit() { return units()[GetParam()]; }
  const FormatInfo& info() { return format_info(unit().format); }
};

TEST_P(Frag, PacksAndUnpacksEveryBit) {
  for (const std::uint64_t cols : {32U, 96U, 160U, 640U, 256U, 512U}) {
    if (cols % info().block_elements != 0) continue;
    for (const std::uint64_t rows : {1U, 15U, 16U, 33U}) {
      const Matrix w(unit().format, cols, rows, cols + rows);
      const std::uint64_t packed_bytes = frag_bytes(rows, w.view.row_bytes());
      const Aligned packed(packed_bytes + 1);
      packed.data()[packed_bytes] = 0xC3;
      ASSERT_EQ(unit().pack(w.bytes.data(), rows, cols, packed.data(), nullptr), 0);
      EXPECT_EQ(packed.data()[packed_bytes], 0xC3) << "written past the end";
      std::vector<std::uint8_t> back(w.bytes.size(), 0x33);
      ASSERT_EQ(unit().unpack(packed.data(), rows, cols, back.data(), nullptr), 0);
      EXPECT_EQ(back, w.bytes) << cols << "x" << rows;
    }
  }
}

struct Case {
  std::uint64_t cols, rows, tokens;
  Planes planes;
};

void expect_scalar_bits(const Unit& unit, const Case& c, std::mt19937_64& random) {
  const Matrix w(unit.format, c.cols, c.rows, random());
  const Aligned packed(frag_bytes(c.rows, w.view.row_bytes()));
  ASSERT_EQ(unit.pack(w.bytes.data(), c.rows, c.cols, packed.data(), nullptr), 0);

  auto x = Activation::create(c.planes, c.tokens, c.cols);
  ASSERT_TRUE(x);
  std::normal_distribution<float> normal;
  std::vector<float> values(c.tokens * c.cols);
  for (float& v : values) v = normal(random);
  if (random() % 4 == 0) values.back() = std::numeric_limits<float>::infinity();
  ASSERT_TRUE((*x)->set({values.data(), Dtype::f32, c.tokens, c.cols, c.cols}));
  std::vector<float> expected(c.tokens * c.rows);
  gemv_scalar(w.view, **x, {expected.data(), Dtype::f32, c.rows}, 0, c.rows);

  const auto slice = test::image_of(**x, 0, static_cast<std::uint32_t>(c.tokens));
  const Aligned image(slice.size());
  std::memcpy(image.data(), slice.data(), slice.size());
  const std::uint64_t stride = c.rows + 3;
  std::vector<float> y(c.tokens * stride, -77.0F);
  Launch launch;
  launch.count = 1;
  launch.targets[0] = {packed.data(), y.data(), c.rows, stride};
  launch.x = image.data();
  launch.tokens = static_cast<std::uint32_t>(c.tokens);
  launch.planes = plane_count(c.planes);
  launch.cols = c.cols;
  launch.blocks = static_cast<std::uint32_t>((*x)->blocks());
  launch.multiprocessors = static_cast<std::uint32_t>(1 + random() % 3);
  for (std::uint32_t& tile : launch.tile) tile = static_cast<std::uint32_t>(random() % 3);
  ASSERT_EQ(unit.launch(launch, nullptr), 0);
  for (std::uint64_t t = 0; t < c.tokens; ++t) {
    ASSERT_EQ(std::memcmp(y.data() + t * stride, expected.data() + t * c.rows, c.rows * sizeof(float)), 0)
        << format_info(unit.format).name << " " << c.cols << "x" << c.rows << ", tokens " << c.tokens << ", token " << t
        << ", planes " << planes_name(c.planes);
    for (std::uint64_t i = c.rows; i < stride; ++i) ASSERT_EQ(y[t * stride + i], -77.0F) << "written between vectors";
  }
}

TEST_P(Frag, HasTheScalarBits) {
  std::mt19937_64 random(GetParam());
  std::uint32_t cases = 0;
  for (const std::uint64_t cols : {32U, 96U, 160U, 640U, 256U, 512U, 1280U, 2304U, 4352U}) {
    if (cols % info().block_elements != 0) continue;
    const std::uint64_t rows = cols > 2000 ? 1 : 33;
    for (const std::uint64_t tokens : {1U, 2U, 3U, 4U, 5U, 8U}) {
      for (const Planes planes : {Planes::x16, Planes::x8, Planes::x24}) {
        if (planes != Planes::x16 && (cols > 2000 || (tokens != 1 && tokens != 8))) continue;
        if (cols > 2000 && tokens != 1 && tokens != 4 && tokens != 8) continue;
        expect_scalar_bits(unit(), {cols, rows, tokens, planes}, random);
        ++cases;
      }
    }
  }
  EXPECT_GE(cases, 20U);
}

std::string name_of(const testing::TestParamInfo<std::size_t>& index) {
  return std::string(format_info(units()[index.param].format).name);
}
// Of eight tokens x doesn't fit into shared memory and comes a super-block at a time, with two tiles or, at the end,
// one; of one it comes in more trips than one; 14496 ends in the midst of a super-block.
TEST_P(Frag, HasTheScalarBitsOfLongK) {
  std::mt19937_64 random(GetParam() + 77);
  for (const std::uint64_t cols : {14336U, 14496U}) {
    if (cols % info().block_elements != 0) continue;
    for (const std::uint64_t tokens : {1U, 5U, 8U}) {
      expect_scalar_bits(unit(), {cols, tokens == 8 ? 33U : 17U, tokens, Planes::x16}, random);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Frag, testing::Range(std::size_t{0}, std::size_t{25}), name_of);

TEST(FragUnits, AreThoseOfAllQuantisedFormats) {
  const auto quantised = std::ranges::count_if(formats(), [](const FormatInfo& info) { return !info.is_float(); });
  EXPECT_EQ(units().size(), static_cast<std::size_t>(quantised));
}

}  // namespace
}  // namespace lanewise::cuda
