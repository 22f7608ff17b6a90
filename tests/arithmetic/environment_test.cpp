// The caller's rounding mode, FTZ and DAZ change no bit of any stage, and are given back.
#include <gtest/gtest.h>

#include <cfenv>
#include <cstring>
#include <functional>

#include "arithmetic/fills.h"
#include "arithmetic/scalar.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace lanewise::trial {
namespace {

constexpr std::uint64_t cols = 1280, rows = 2, tokens = 3;

struct Inputs {
  std::vector<std::vector<std::uint8_t>> weights;
  std::vector<Input> x;
};

// Made before the environment is touched.
Inputs make_inputs() {
  Random random(23);
  Inputs in;
  for (const FormatInfo& info : formats()) {
    in.weights.push_back(make_weights(info.format, rows, cols, WeightFill::tame, random));
    in.weights.push_back(make_weights(info.format, rows, cols, WeightFill::random_bytes, random));
  }
  for (const InputFill fill :
       {InputFill::gauss, InputFill::wide, InputFill::subnormal, InputFill::tiny, InputFill::boundary}) {
    for (const Planes planes : {Planes::x8, Planes::x16, Planes::x24}) {
      in.x.push_back(make_input(fill, planes, Dtype::f32, tokens, cols, cols, random));
      in.x.push_back(make_input(fill, planes, Dtype::f16, tokens, cols, cols, random));
    }
  }
  return in;
}

template <class T>
void append(std::vector<std::uint8_t>& out, const T* values, std::uint64_t count) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(values);
  out.insert(out.end(), bytes, bytes + count * sizeof(T));
}

// NaN payloads are open inside the chain, so a trace's floats are written with one NaN.
void append_float(std::vector<std::uint8_t>& out, float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) bits = canonical_nan;
  append(out, &bits, 1);
}

// Everything that the arithmetic gives, as bytes.
std::vector<std::uint8_t> run(const Inputs& in) {
  std::vector<std::uint8_t> out;
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    const Planes planes = std::array{Planes::x8, Planes::x16, Planes::x24}[i / 2 % 3];
    auto x = Activation::create(planes, tokens, cols);
    if (!x.ok() || !(*x)->set(in.x[i].view()).ok()) return {};
    for (std::uint64_t t = 0; t < tokens; ++t) {
      const NaturalToken token = (*x)->natural(t);
      append(out, token.planes, plane_count(planes) * token.padded_cols);
      append(out, token.sums, plane_count(planes) * token.padded_cols / sum_group);
      append(out, token.exponents, (*x)->blocks());
      append(out, token.powers, (*x)->blocks());
      for (const Image image : {Image::xq_f16, Image::xq_bf16, Image::xq_f32}) {
        append(out, (*x)->floats(image, t).values, token.padded_cols);
      }
    }
    for (std::size_t n = 0; n < in.weights.size(); ++n) {
      const MatrixView w{formats()[n / 2].format, rows, cols, in.weights[n].data()};
      std::vector<float> y(rows * tokens);
      gemv_scalar(w, **x, {y.data(), Dtype::f32, rows}, 0, rows);
      append(out, y.data(), y.size());
      std::vector<std::uint16_t> half(rows * tokens);
      gemv_scalar(w, **x, {half.data(), Dtype::f16, rows}, 0, rows);
      append(out, half.data(), half.size());
      if (i % 5 != n % 5) continue;
      const Trace trace = trace_scalar(w, **x, 1, 2);
      for (const TraceStep& step : trace.steps) {
        append(out, step.sums.data(), 3);
        for (const float value : {step.value, step.scale, step.term, step.accumulator}) append_float(out, value);
      }
      for (const float r : trace.eighth_sums) append_float(out, r);
      append_float(out, trace.y);
    }
  }
  return out;
}

TEST(Environment, RoundingModesChangeNothing) {
  const Inputs in = make_inputs();
  const std::vector<std::uint8_t> expected = run(in);
  ASSERT_FALSE(expected.empty());
  for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    const std::vector<std::uint8_t> got = run(in);
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(after, mode);
    ASSERT_EQ(got.size(), expected.size());
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size()), 0) << "mode " << mode;
  }
}

#if defined(__x86_64__)
// FTZ is bit 15 of MXCSR, DAZ bit 6, the rounding mode bits 13 and 14.
TEST(Environment, FlushingChangesNothing) {
  const Inputs in = make_inputs();
  const std::vector<std::uint8_t> expected = run(in);
  ASSERT_FALSE(expected.empty());
  const unsigned saved = _mm_getcsr();
  for (const unsigned mode : {0x8000u, 0x0040u, 0x8040u, 0xA040u, 0xC040u, 0xE040u}) {
    _mm_setcsr((saved & ~0xE040u) | mode);
    const std::vector<std::uint8_t> got = run(in);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(saved);
    EXPECT_EQ(after & 0xE040u, mode);
    ASSERT_EQ(got.size(), expected.size());
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size()), 0) << "MXCSR bits " << std::hex << mode;
  }
}

// The whole control word comes back, from every entry.
TEST(Environment, EveryEntryRestoresTheControlWord) {
  const Inputs in = make_inputs();
  const Input& input = in.x[2];
  auto x = Activation::create(Planes::x16, tokens, cols);
  ASSERT_TRUE(x.ok() && (*x)->set(input.view()).ok());
  std::vector<float> y(rows * tokens);
  const MatrixView f32{Format::F32, rows, cols, in.weights[0].data()};
  const std::vector<std::pair<const char*, std::function<void()>>> entries = {
      {"set", [&] { (void)(*x)->set(input.view()); }},
      {"floats", [&] { (void)(*x)->floats(Image::xq_f16, 0); }},
      {"gemv_scalar",
       [&] {
         gemv_scalar(f32, **x, {y.data(), Dtype::f32, rows}, 0, rows);
       }},
      {"trace_scalar", [&] { trace_scalar(f32, **x, 0, 0); }},
  };
  const unsigned saved = _mm_getcsr();
  for (const auto& [name, call] : entries) {
    const unsigned unusual = (saved & ~0xE07Fu) | 0xA040u | 0x0004u;  // upward, FTZ, DAZ, one exception flag
    _mm_setcsr(unusual);
    call();
    const unsigned after = _mm_getcsr();
    _mm_setcsr(saved);
    EXPECT_EQ(after, unusual) << name;
  }
}
#endif

}  // namespace
}  // namespace lanewise::trial
