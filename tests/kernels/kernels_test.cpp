// Every kernel that this processor can run against the scalar one, by memcmp of all of y, the gaps included.
//
// Not the product of all choices: every format goes through every K and row count (few rows where K is large) with each
// plane count; tokens, data, y's type and stride, and the way the rows are asked for rotate so that every pair the last
// test lists occurs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "arithmetic/scalar.h"
#include "backends/cpu/cpu.h"
#include "harness/compare.h"
#include "harness/fill.h"
#include "kernels/data.h"
#include "kernels/emulated.h"
#include "kernels/kernel.h"
#include "kernels/support.h"
#include "layout/layout.h"

namespace lanewise::test {
namespace {

// How rows and tokens are asked for.
enum class Ask : std::uint8_t {
  whole,   ///< rows 0 .. rows-1 in one call
  pieces,  ///< in calls whose bounds no 16 divides
  inside,  ///< a range that leaves rows at both ends unwritten
  slots,   ///< tokens picked singly, in any order, some twice, into vectors of any order: experts
};
constexpr int asks = 4;

struct Trial {
  FormatInfo info;
  std::uint64_t rows, cols, tokens;
  Planes planes;
  Content content;
  Dtype output;
  std::uint64_t gap;  ///< elements between the vectors of y
  Ask ask;
  bool poisoned;  ///< one more token holds a NaN, an infinity or 2^64
  std::uint64_t seed;
};

std::string describe(const Trial& t) {
  constexpr std::array ask_names = {"whole", "pieces", "inside", "slots"};
  return std::string(t.info.name) + " " + std::to_string(t.cols) + "x" + std::to_string(t.rows) + " tokens " +
         std::to_string(t.tokens) + " " + std::string(planes_name(t.planes)) + " " +
         std::string(content_name(t.content)) + " y type " + std::to_string(static_cast<int>(t.output)) + " gap " +
         std::to_string(t.gap) + " rows " + ask_names[static_cast<std::size_t>(t.ask)] +
         (t.poisoned ? " poisoned" : "") + " seed " + std::to_string(t.seed);
}

// As many rows as the width leaves time for.
std::vector<std::uint64_t> row_counts(std::uint64_t cols) {
  if (cols >= 14336) return {1, 3, 16};
  if (cols >= 2304) return {1, 2, 5, 13, 33};
  return {1, 2, 3, 5, 13, 16, 33, 63, 65};
}

std::vector<Trial> trials(const FormatInfo& info) {
  std::vector<Trial> all;
  const std::vector<std::uint64_t> cols = widths_of(info);
  std::uint64_t seed = info.id * 1000;
  for (std::uint64_t k = 0; k < cols.size(); ++k) {
    const std::vector<std::uint64_t> rows = row_counts(cols[k]);
    for (std::uint64_t r = 0; r < rows.size(); ++r) {
      for (std::uint64_t p = 0; p < 3; ++p) {
        ++seed;
        Trial t{};
        t.info = info;
        t.rows = rows[r];
        t.cols = cols[k];
        t.tokens = 1 + (r + k + 3 * p + info.id) % 9;
        t.planes = static_cast<Planes>(1 + p);
        t.content = static_cast<Content>((2 * k + r + p + info.id) % contents);
        t.output = static_cast<Dtype>((r + 2 * k + p) % 3);
        t.gap = (r + k) % 3 * 3;
        t.ask = static_cast<Ask>((k + r + r / 4 + p) % asks);
        t.poisoned = (r + k + p) % 3 == 0;
        t.seed = seed;
        all.push_back(t);
      }
    }
  }
  return all;
}

// What is asked of a kernel: calls of rows, and where y lies.
struct Request {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> calls;
  std::vector<OutputSlot> slots;
  OutputView y;
  std::uint64_t bytes = 0;
};

Request make_request(const Trial& t) {
  Random random(t.seed, 1);
  Request request;
  std::uint64_t vectors = t.tokens;
  request.calls = {{0, t.rows}};
  if (t.ask == Ask::pieces && t.rows > 1) {
    request.calls.clear();
    for (std::uint64_t at = 0; at < t.rows;) {
      const std::uint64_t end = std::min(t.rows, at + 1 + random.below(23));
      request.calls.emplace_back(at, end);
      at = end;
    }
  }
  if (t.ask == Ask::inside && t.rows > 2) {
    const std::uint64_t begin = 1 + random.below(t.rows - 2);
    request.calls = {{begin, begin + 1 + random.below(t.rows - 1 - begin)}};
  }
  if (t.ask == Ask::slots) {
    const std::uint64_t count = 1 + random.below(11);
    vectors = count + 3;
    std::vector<std::uint64_t> places(vectors);
    for (std::uint64_t i = 0; i < vectors; ++i) places[i] = i;
    for (std::uint64_t i = vectors - 1; i > 0; --i) std::swap(places[i], places[random.below(i + 1)]);
    for (std::uint64_t i = 0; i < count; ++i) request.slots.push_back({random.below(t.tokens), places[i]});
  }
  request.y.dtype = t.output;
  request.y.stride = t.rows + t.gap;
  request.bytes = vectors * request.y.stride * dtype_bytes(t.output);
  if (!request.slots.empty()) {
    request.y.slots = request.slots.data();
    request.y.slot_count = request.slots.size();
  }
  return request;
}

constexpr std::uint8_t unwritten = 0xA5;

Fenced fenced(std::uint64_t bytes, Fence fence) {
  auto made = Fenced::create(bytes, fence);
  EXPECT_TRUE(made.ok()) << "no fenced memory of " << bytes << " bytes";
  return made.ok() ? std::move(*made) : Fenced();
}

Bytes product(const KernelDesc& kernel, const MatrixView& w, const Activation& x, const Request& request) {
  const Fenced out = fenced(request.bytes, Fence::canary);
  std::fill_n(out.data(), out.size(), unwritten);
  OutputView y = request.y;
  y.data = out.data();
  for (const auto& [begin, end] : request.calls) kernel.launch(w, x, y, begin, end);
  EXPECT_EQ(out.damaged(), 0u) << "bytes written outside y";
  return {out.data(), out.data() + out.size()};
}

std::string first_difference(const Trial& t, const Request& request, const Bytes& got, const Bytes& expected) {
  const auto at = static_cast<std::uint64_t>(std::ranges::mismatch(got, expected).in1 - got.begin());
  const std::uint64_t element = at / dtype_bytes(t.output);
  const std::uint64_t size = dtype_bytes(t.output);
  std::uint32_t pair[2] = {0, 0};
  std::memcpy(&pair[0], got.data() + element * size, size);
  std::memcpy(&pair[1], expected.data() + element * size, size);
  char text[128];
  std::snprintf(text, sizeof text, "vector %u row %u: bits %08X, expected %08X",
                static_cast<unsigned>(element / request.y.stride), static_cast<unsigned>(element % request.y.stride),
                pair[0], pair[1]);
  return text;
}

// W in every layout, each behind a page that can't be read; made once for all kernels.
class Weights {
 public:
  explicit Weights(const Trial& t) : raw_(fenced(t.rows * row_bytes(t.info, t.cols), Fence::page)) {
    make_weights(t.info, t.rows, t.cols, t.content, t.seed, raw_.data());
    view_ = {t.info.format, t.rows, t.cols, raw_.data()};
    packed_ = fenced(packed_bytes(Layout::rows16, view_), Fence::page);
    pack_matrix(Layout::rows16, view_, 0, pack_units(Layout::rows16, t.rows), packed_.data());
  }
  [[nodiscard]] MatrixView in(Layout layout) const {
    MatrixView view = view_;
    if (layout == Layout::rows16) view.data = packed_.data();
    return view;
  }

 private:
  Fenced raw_, packed_;
  MatrixView view_;
};

std::vector<float> poison_one(const Trial& t, std::vector<float> x) {
  if (!t.poisoned) return x;
  const std::array<float, 4> bad = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                                    -std::numeric_limits<float>::infinity(), 0x1p64F};
  Random random(t.seed, 2);
  const std::uint64_t at = random.below(t.tokens * t.cols);
  x[at] = bad[random.below(bad.size())];
  return x;
}

bool is_scalar(const KernelDesc& kernel) { return kernel.launch == &gemv_scalar; }

class Kernels : public testing::TestWithParam<FormatInfo> {};

TEST_P(Kernels, AgreeWithTheScalarOne) {
  const FormatInfo& info = GetParam();
  const std::uint32_t capabilities = cpu_capabilities();
  std::vector<const KernelDesc*> able;
  const KernelDesc* scalar = nullptr;
  for (const auto kernels : {cpu_kernels(), emulated_kernels()}) {
    for (const KernelDesc& kernel : kernels) {
      if (!accepts(kernel.formats, info) || (kernel.needs & ~capabilities) != 0) continue;
      if (is_scalar(kernel)) {
        scalar = &kernel;
      } else {
        able.push_back(&kernel);
      }
    }
  }
  ASSERT_NE(scalar, nullptr);
  if (able.empty()) GTEST_SKIP() << "this processor or build has the scalar kernel only";

  std::uint64_t outputs = 0;
  std::uint64_t telling = 0;
  for (const Trial& t : trials(info)) {
    SCOPED_TRACE(describe(t));
    const Weights w(t);
    const std::vector<float> values = poison_one(t, make_x(info, t.tokens, t.cols, t.planes, t.content, t.seed));
    // The workspace behind a page that can't be read: the columns image is its end.
    const auto needed = Activation::workspace_bytes(t.planes, t.tokens, t.cols);
    ASSERT_TRUE(needed.ok());
    const std::uint64_t bytes = (*needed + Activation::alignment - 1) / Activation::alignment * Activation::alignment;
    const Fenced workspace = fenced(bytes, Fence::page);
    auto x = Activation::create_in(t.planes, t.tokens, t.cols, workspace.data(), bytes);
    ASSERT_TRUE(x.ok()) << x.error().message;
    ASSERT_TRUE((*x)->set({values.data(), Dtype::f32, t.tokens, t.cols, t.cols}).ok());

    const Request request = make_request(t);
    const Bytes expected = product(*scalar, w.in(Layout::raw), **x, request);
    for (const KernelDesc* kernel : able) {
      const Bytes got = product(*kernel, w.in(kernel->layout), **x, request);
      ASSERT_TRUE(got == expected) << kernel_name(*kernel, info, t.planes) << ": "
                                   << first_difference(t, request, got, expected);
    }
    if (t.content == Content::raw || t.poisoned || t.output != Dtype::f32) continue;
    for (const auto& [begin, end] : request.calls) {
      for (std::uint64_t i = 0; i < request.y.count(t.tokens); ++i) {
        for (std::uint64_t r = begin; r < end; ++r) {
          float y;
          std::memcpy(&y, expected.data() + (request.y.slot(i).vector * request.y.stride + r) * 4, 4);
          ++outputs;
          telling += std::isfinite(y) && y != 0 ? 1u : 0u;
        }
      }
    }
  }
  // Equal zeros or NaNs would say nothing. (Saturated rows of zeros are zero.)
  EXPECT_GT(outputs, 100u);
  EXPECT_GT(telling * 2, outputs);
}
INSTANTIATE_TEST_SUITE_P(AllFormats, Kernels, testing::ValuesIn(quantised_formats()), test_name);

// The rotation above is arithmetic on indices: here is what it must reach.
TEST(KernelTrials, CoverEveryPair) {
  using Pairs = std::set<std::pair<std::uint64_t, std::uint64_t>>;
  std::map<std::string_view, Pairs> overall;
  std::map<std::string_view, std::set<std::uint64_t>> widths_run;
  for (const FormatInfo& info : quantised_formats()) {
    Pairs tokens_planes;
    Pairs content_planes;
    Pairs ask_planes;
    for (const Trial& t : trials(info)) {
      const auto planes = static_cast<std::uint64_t>(t.planes);
      const auto content = static_cast<std::uint64_t>(t.content);
      const auto ask = static_cast<std::uint64_t>(t.ask);
      tokens_planes.emplace(t.tokens, planes);
      content_planes.emplace(content, planes);
      ask_planes.emplace(ask, planes);
      overall["tokens x content"].emplace(t.tokens, content);
      overall["tokens x rows"].emplace(t.tokens, t.rows);
      overall["tokens x K"].emplace(t.tokens, t.cols);
      overall["tokens x ask"].emplace(t.tokens, ask);
      overall["tokens x type"].emplace(t.tokens, static_cast<std::uint64_t>(t.output));
      overall["K x planes"].emplace(t.cols, planes);
      overall["K x content"].emplace(t.cols, content);
      overall["rows x ask"].emplace(t.rows, ask);
      overall["rows x content"].emplace(t.rows, content);
      overall["ask x content"].emplace(ask, content);
      overall["ask x type"].emplace(ask, static_cast<std::uint64_t>(t.output));
      overall["poisoned x planes"].emplace(t.poisoned ? 1u : 0u, planes);
      overall["poisoned x tokens"].emplace(t.poisoned ? 1u : 0u, t.tokens);
      widths_run[info.name].insert(t.cols);
    }
    EXPECT_EQ(tokens_planes.size(), 9u * 3u) << info.name;
    EXPECT_EQ(content_planes.size(), std::size_t{contents} * 3u) << info.name;
    EXPECT_EQ(ask_planes.size(), std::size_t{asks} * 3u) << info.name;
    EXPECT_GE(widths_run[info.name].size(), 6u) << info.name;
  }
  constexpr std::size_t cols = std::size(widths);
  const std::map<std::string_view, std::size_t> wanted = {
      {"tokens x content", 9u * contents}, {"tokens x rows", 9u * 9u},
      {"tokens x K", 9u * cols},           {"tokens x ask", 9u * asks},
      {"tokens x type", 9u * 3u},          {"K x planes", cols * 3u},
      {"K x content", cols * contents},    {"rows x ask", 9u * asks},
      {"rows x content", 9u * contents},   {"ask x content", std::size_t{asks} * contents},
      {"ask x type", asks * 3u},           {"poisoned x planes", 2u * 3u},
      {"poisoned x tokens", 2u * 9u},
  };
  for (const auto& [name, count] : wanted) EXPECT_EQ(overall[name].size(), count) << name;
}

}  // namespace
}  // namespace lanewise::test
