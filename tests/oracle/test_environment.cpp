// The caller's rounding mode and subnormal flushing change nothing and are given back.
#include <cfenv>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "support.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace lanewise::oracle::testing {
namespace {

struct Results {
  std::vector<float> y;
  std::vector<float> weights;
  std::vector<int> e;
  std::vector<std::int32_t> q;
  std::vector<double> exact;
  std::vector<float> join;
  std::vector<int> exponents;
};

// Inputs are made before the environment is touched.
struct Inputs {
  std::vector<std::vector<std::uint8_t>> rows;
  std::vector<float> x;
};

constexpr std::int64_t kCols = 1280;

Results run(const Inputs& in) {
  Results out;
  for (int planes = 1; planes <= 3; ++planes) {
    const Activation a = fp32_activation(in.x, 2, planes);
    out.e.insert(out.e.end(), a.e.begin(), a.e.end());
    out.q.insert(out.q.end(), a.q.begin(), a.q.end());
    for (int i = 0; i < kFormatCount; ++i) {
      const int id = all_facts()[i].id;
      const std::uint8_t* row = in.rows[static_cast<std::size_t>(i)].data();
      float y[2];
      gemv(id, row, 1, kCols, a, y);
      out.y.insert(out.y.end(), y, y + 2);
      const Exact e = exact(id, row, kCols, a, 1);
      out.exact.insert(out.exact.end(), {e.y, e.terms, e.bound});
      for (std::int64_t k = 0; k < kCols; ++k) out.weights.push_back(dequantized(id, row, k));
    }
  }
  const std::int64_t sums[] = {(1 << 24) + 3, (1 << 30) + 77, -(1 << 25) - 5};
  for (int planes = 1; planes <= 3; ++planes) out.join.push_back(joined(sums, planes));
  for (double amax : {127.5, 32512.5, 32512.6, 8355711.5}) {
    for (int planes = 1; planes <= 3; ++planes) {
      out.exponents.push_back(activation_exponent(amax, activation_limit(planes)));
    }
  }
  return out;
}

template <class T>
void expect_same(const std::vector<T>& a, const std::vector<T>& b, const char* what) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(T)), 0) << what;
}

void expect_same(const Results& a, const Results& b) {
  expect_same(a.y, b.y, "y");
  expect_same(a.weights, b.weights, "weights");
  expect_same(a.e, b.e, "e");
  expect_same(a.q, b.q, "q");
  expect_same(a.exact, b.exact, "exact");
  expect_same(a.join, b.join, "join");
  expect_same(a.exponents, b.exponents, "exponents");
}

Inputs make_inputs() {
  std::mt19937 rng(31);
  Inputs in;
  for (int i = 0; i < kFormatCount; ++i) in.rows.push_back(random_row(all_facts()[i].id, kCols, rng));
  for (std::size_t b = 0; b < in.rows[24].size(); b += 3 * 17) in.rows[24][b] = 0;  // MXFP4: subnormal weights
  in.x = gaussian_x(2 * kCols, rng);
  for (std::size_t k = 0; k < in.x.size(); k += 5) in.x[k] = std::ldexp(in.x[k], -130);
  return in;
}

TEST(OracleEnvironment, RoundingModesChangeNothing) {
  ASSERT_EQ(all_facts()[24].id, 39);
  const Inputs in = make_inputs();
  const Results expected = run(in);
  for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    const Results got = run(in);
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(after, mode);
    expect_same(expected, got);
  }
}

#if defined(__x86_64__)
TEST(OracleEnvironment, FlushingChangesNothing) {
  const Inputs in = make_inputs();
  const Results expected = run(in);
  const unsigned saved = _mm_getcsr();
  for (unsigned mode : {0x8000u, 0x0040u, 0x8040u, 0xE040u}) {  // FTZ, DAZ, both, both and towards zero
    _mm_setcsr((saved & ~0xE040u) | mode);
    const Results got = run(in);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(saved);
    EXPECT_EQ(after & 0xE040u, mode);
    expect_same(expected, got);
  }
}
#endif

}  // namespace
}  // namespace lanewise::oracle::testing
