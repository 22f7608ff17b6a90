// The plain CUDA kernels, emulated, against the scalar kernel, by memory.
#include "cuda/plain.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "arithmetic/scalar.h"
#include "cuda/cases.h"
#include "cuda/image_of.h"

namespace lanewise::test {
namespace {

constexpr std::uint8_t untouched = 0x5A;

struct Shape {
  Format format;
  std::uint64_t rows, cols;
  std::uint32_t tokens;
  Planes planes;
  Dtype dtype = Dtype::f32;
  std::uint32_t tile[2] = {0, 0};
  bool poison = false;
  std::uint32_t shared_bytes = 0;
};

std::string to_string(const Shape& s) {
  return std::string(format_info(s.format).name) + " " + std::to_string(s.cols) + "x" + std::to_string(s.rows) +
         " tokens " + std::to_string(s.tokens) + " " + std::string(planes_name(s.planes)) + " dtype " +
         std::to_string(static_cast<int>(s.dtype)) + " tile " + std::to_string(s.tile[0]) + ", " +
         std::to_string(s.tile[1]) + " shared " + std::to_string(s.shared_bytes);
}

/// y of the scalar kernel, vector t at t * stride.
std::vector<std::uint8_t> expected_y(const Shape& s, const std::uint8_t* w, const Activation& x, std::uint64_t stride) {
  std::vector<std::uint8_t> y(s.tokens * stride * dtype_bytes(s.dtype), untouched);
  OutputView view;
  view.data = y.data();
  view.dtype = s.dtype;
  view.stride = stride;
  MatrixView matrix;
  matrix.format = s.format;
  matrix.rows = s.rows;
  matrix.cols = s.cols;
  matrix.data = w;
  gemv_scalar(matrix, x, view, 0, s.rows);
  return y;
}

cuda::Launch launch_of(const Shape& s, const Activation& x, const std::vector<std::uint8_t>& image) {
  cuda::Launch launch;
  launch.x = image.data();
  launch.tokens = s.tokens;
  launch.planes = plane_count(s.planes);
  launch.cols = s.cols;
  launch.blocks = static_cast<std::uint32_t>(x.blocks());
  launch.dtype = static_cast<std::uint32_t>(s.dtype);
  launch.multiprocessors = 1;
  launch.shared_bytes = s.shared_bytes;
  std::copy_n(s.tile, 2, launch.tile);
  return launch;
}

void check(const Shape& s) {
  SCOPED_TRACE(to_string(s));
  Aligned w = random_weights(s.format, s.rows, s.cols, static_cast<std::uint32_t>(s.cols + s.rows));
  std::vector<float> values = random_x(s.tokens, s.cols, static_cast<std::uint32_t>(s.cols));
  if (s.poison) values[(s.tokens - 1) * s.cols] = std::bit_cast<float>(0x7F800000u);
  const auto x = activation_of(values, s.planes, s.tokens, s.cols);
  const std::uint64_t stride = s.rows + 3;
  const std::vector<std::uint8_t> expected = expected_y(s, w.data(), *x, stride);
  std::vector<std::uint8_t> got(expected.size(), untouched);
  const std::vector<std::uint8_t> image = image_of(*x, 0, s.tokens);
  cuda::Launch launch = launch_of(s, *x, image);
  launch.count = 1;
  launch.targets[0] = {w.data(), got.data(), s.rows, stride};
  ASSERT_EQ(launch_plain(s.format, launch), 0);
  ASSERT_EQ(std::memcmp(expected.data(), got.data(), got.size()), 0);
}

constexpr Planes all_planes[] = {Planes::x8, Planes::x16, Planes::x24};

// Every format, every number of tokens and planes, with rows and K in turn.
TEST(CudaPlain, IsTheScalarKernel) {
  constexpr std::uint32_t tokens[] = {1, 2, 4, 8, 1, 5, 7, 1};
  constexpr std::uint64_t rows[] = {1, 3, 33, 2, 9};
  constexpr std::uint64_t cols[] = {32, 256, 1280, 512, 96, 2304, 64, 4352, 416};
  std::uint32_t turn = 0;
  for (const FormatInfo& info : formats()) {
    for (const Planes planes : all_planes) {
      for (const std::uint32_t t : tokens) {
        for (std::uint32_t i = 0; i < 2; ++i, ++turn) {
          std::uint64_t k = cols[turn % std::size(cols)];
          if (k % info.block_elements != 0) k = 256 * (1 + k / 128);
          if (info.is_float() && turn % 3 == 0) k += 1 + turn % 7;
          Shape shape{info.format, rows[turn % std::size(rows)], k, t, planes};
          if (info.is_float()) {
            shape.tile[0] = 1u << turn % 4;
            shape.tile[1] = 2 + turn % 3;
            shape.shared_bytes = (i == 0 ? 64u : 227u) << 10;
          } else {
            shape.tile[0] = i == 0 ? 4 : 16;
          }
          check(shape);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(CudaPlain, WritesEveryTypeAndPoison) {
  for (const FormatInfo& info : formats()) {
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      check({info.format, 5, 512, 1, Planes::x16, dtype, {0, 0}, true});
      check({info.format, 5, 512, 3, Planes::x16, dtype, {0, 0}, true});
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(CudaPlain, TakesSeveralTargets) {
  for (const FormatInfo& info : formats()) {
    SCOPED_TRACE(info.name);
    constexpr std::uint64_t rows[] = {3, 17, 1, 9};
    const Shape s{info.format, 0, 768, 3, Planes::x16};
    const auto x = activation_of(random_x(s.tokens, s.cols, 7), s.planes, s.tokens, s.cols);
    const std::vector<std::uint8_t> image = image_of(*x, 0, s.tokens);
    cuda::Launch launch = launch_of(s, *x, image);
    std::vector<Aligned> w;
    std::vector<std::vector<std::uint8_t>> expected;
    std::vector<std::vector<std::uint8_t>> got;
    for (const std::uint64_t count : rows) {
      w.push_back(random_weights(info.format, count, s.cols, static_cast<std::uint32_t>(count)));
      Shape one = s;
      one.rows = count;
      expected.push_back(expected_y(one, w.back().data(), *x, count));
      got.emplace_back(expected.back().size(), untouched);
      launch.targets[launch.count++] = {w.back().data(), got.back().data(), count, count};
    }
    ASSERT_EQ(launch_plain(info.format, launch), 0);
    EXPECT_EQ(got, expected);
  }
}

// Gate and up of five experts, eleven tokens (two slices) that use three each, some twice: as single products.
TEST(CudaPlain, ReadsEachExpertOfASlice) {
  constexpr std::uint32_t experts = 5;
  constexpr std::uint32_t used = 3;
  constexpr std::uint32_t tokens = 11;
  constexpr std::uint64_t rows[] = {5, 2};
  Random random(1);
  std::vector<std::int32_t> ids(tokens * used);
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % experts);
  for (const FormatInfo& info : formats()) {
    SCOPED_TRACE(info.name);
    const std::uint64_t cols = 768;
    const auto x = activation_of(random_x(tokens, cols, 9), Planes::x16, tokens, cols);
    std::vector<Aligned> w;
    cuda::Routing routing;
    routing.targets = 2;
    routing.experts = experts;
    routing.tokens = tokens;
    routing.used = used;
    for (std::uint32_t i = 0; i < 2; ++i) {
      for (std::uint32_t e = 0; e < experts; ++e) {
        w.push_back(random_weights(info.format, rows[i], cols, e + 10 * i));
        routing.w[i][e] = w.back().data();
      }
    }
    // With an id of the second slice out of range too: then the first slice writes nothing either.
    for (const std::int32_t wrong : {0, -1, static_cast<int>(experts)}) {
      std::vector<std::int32_t> asked = ids;
      if (wrong != 0) asked.back() = wrong;
      std::vector<cuda::Route> routes(2);
      routing.ids = asked.data();
      routing.routes = routes.data();
      ASSERT_EQ(launch_route(routing), 0);
      EXPECT_EQ(routes[0].bad, wrong != 0 ? 1u : 0u);
      for (std::uint32_t i = 0; i < 2; ++i) {
        std::vector<float> got(tokens * used * rows[i], -1.0F);
        std::vector<float> expected = got;
        for (std::uint32_t slice = 0; slice < 2; ++slice) {
          const Shape s{info.format, rows[i], cols, slice == 0 ? 8u : 3u, Planes::x16};
          const std::vector<std::uint8_t> image = image_of(*x, slice * 8, s.tokens);
          cuda::Launch launch = launch_of(s, *x, image);
          launch.count = i + 1;  // of the second round both targets
          launch.route = &routes[slice];
          launch.ids = asked.data() + slice * 8 * used;
          launch.used = used;
          std::vector<float> other(tokens * used * rows[0]);
          launch.targets[i] = {nullptr, got.data() + slice * 8 * used * rows[i], rows[i], rows[i]};
          if (i == 1) launch.targets[0] = {nullptr, other.data(), rows[0], rows[0]};
          ASSERT_EQ(launch_plain(info.format, launch), 0);
        }
        for (std::uint32_t p = 0; wrong == 0 && p < ids.size(); ++p) {
          const OutputSlot slot{p / used, p};
          OutputView view;
          view.data = expected.data();
          view.stride = rows[i];
          view.slots = &slot;
          view.slot_count = 1;
          MatrixView matrix{info.format, rows[i], cols, routing.w[i][ids[p]]};
          gemv_scalar(matrix, *x, view, 0, rows[i]);
        }
        ASSERT_EQ(std::memcmp(expected.data(), got.data(), got.size() * sizeof(float)), 0) << "target " << i;
      }
    }
  }
}

TEST(CudaPlain, DecodesAsTheHostDoes) {
  for (const FormatInfo& info : formats()) {
    for (const std::uint64_t cols : {256u, 4352u, info.block_elements * 3}) {
      Aligned w = random_weights(info.format, 1, cols, 3);
      std::vector<float> expected(cols);
      std::vector<float> got(cols, -1.0F);
      dequantize_row(info.format, w.data(), cols, expected.data());
      ASSERT_EQ(launch_dequantize(info.format, w.data(), cols, got.data()), 0);
      ASSERT_EQ(std::memcmp(expected.data(), got.data(), cols * sizeof(float)), 0) << info.name << " " << cols;
    }
  }
}

}  // namespace
}  // namespace lanewise::test
