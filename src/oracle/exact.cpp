// The float64 reference and the error bound of section 5, derived for one row and token.
//
// Let u = 2^-24, the largest relative error of one fp32 operation. gemv's y differs from sum w*x by
//
//  1. the rounding of x: each q * 2^e is within 2^(e-1) of x (at the lowest e = -80 this is the flush of
//     values up to 2^-81), and the same q meets both the d and the m term, so the whole weight counts:
//         sum |w| * 2^(e-1);
//  2. F: float(J_p) is exact up to 2^24 and otherwise within u |J_p|; each addition that joins planes errs by
//     at most u times its result, and not at all while the sum stays within 2^24. Times |d| 2^e, |m| 2^e;
//  3. d * F, rounded once: u |d F| 2^e (no error for MXFP4, whose scale is a power of two, but a power below
//     2^-126 counts as zero and leaves out the whole term);
//  4. the canonical sum: a term meets at most D inexact additions, D = (longest chain of one accumulator - 1,
//     as the first addition is to zero) + the levels of the fold and of the final tree (+0 is exact). By the
//     usual argument for any order of depth D the error is at most D u / (1 - D u) times the sum of the
//     magnitudes of the terms;
//  5. this reference itself: K products and sums in double, (K + 2) 2^-53 sum |w x|.
//
// Float weights: 1 with e' for e; a weight below 2^-63 counts as zero and leaves out |w x|; for F32 each
// product is rounded, u |w xq| (F16 and BF16 products are exact); 4 with chains of every 64th element.
#include <cmath>
#include <cstddef>
#include <limits>

#include "oracle/numbers.h"
#include "oracle/oracle.h"

namespace lanewise::oracle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnit = 1.0 / 16777216;  // 2^-24

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

double rounding_of_integer(double value) { return std::fabs(value) > 16777216.0 ? kUnit * std::fabs(value) : 0; }

// Part 2: how far F may be from the integer that the planes hold.
double join_error(const std::int64_t* sums, int plane_count) {
  double weight_of_plane = 1;
  double whole = 0;
  double error = 0;
  for (int p = 0; p < plane_count; ++p) {
    const auto sum = static_cast<double>(sums[p]);
    whole += weight_of_plane * sum;
    error += weight_of_plane * rounding_of_integer(sum);
    // The operands carry the error so far, so the result that is rounded may be larger by it.
    if (p > 0) error += error > 0 ? kUnit * (std::fabs(whole) + error) : rounding_of_integer(whole);
    weight_of_plane *= 256;
  }
  return error;
}

double chain_error(const Trace& t, int fold_levels) {
  std::vector<int> length(index(std::int64_t{kEighths} * t.accumulators), 0);
  int longest = 0;
  double magnitudes = 0;
  for (const Step& s : t.steps) {
    int& own = length[index(s.g * t.accumulators + s.v)];
    if (++own > longest) longest = own;
    magnitudes += std::fabs(static_cast<double>(s.addend));
  }
  const double du = (longest - 1 + fold_levels) * kUnit;
  return du / (1 - du) * magnitudes;
}

double float_error(const Facts& f, const Trace& t, const std::vector<double>& w, const double* x) {
  double error = chain_error(t, 6 + 3);
  for (std::size_t k = 0; k < w.size(); ++k) {
    const double size = std::fabs(w[k]);
    if (size < power_of_two(-63)) {
      error += size * std::fabs(x[k]);
      continue;
    }
    error += size * power_of_two(t.e[k / kSuperBlock] - 1);
    if (f.id == 0) error += kUnit * std::fabs(static_cast<double>(t.steps[k].addend)) * (1 + 2 * kUnit);
  }
  return error;
}

double quantised_error(const Facts& f, const Trace& t, int planes, const std::vector<double>& w) {
  double error = chain_error(t, 2 + 3);
  for (std::size_t k = 0; k < w.size(); ++k) error += std::fabs(w[k]) * power_of_two(t.e[k / kSuperBlock] - 1);
  for (std::size_t i = 0; i < t.d.size(); ++i) {
    const int e = t.e[i * static_cast<std::size_t>(f.dgroup) / kSuperBlock];
    const std::size_t at = i * static_cast<std::size_t>(planes);
    const double scale = std::fabs(t.d[i]) * power_of_two(e);
    const double size = std::fabs(static_cast<double>(t.FJ[i]));
    error += scale * join_error(&t.J[at], planes);
    if (!f.exponent_scale) {
      error += scale * size * kUnit;
    } else if (scale < power_of_two(-126)) {
      error += scale * size;
    }
    if (!f.has_min) continue;
    const double min_scale = std::fabs(t.m[i]) * power_of_two(e);
    error += min_scale * join_error(&t.M[at], planes);
    error += min_scale * std::fabs(static_cast<double>(t.FM[i])) * kUnit;
  }
  return error;
}

[[gnu::noinline]] void reference(const Facts& f, const std::uint8_t* row, const Trace& t, const Activation& a,
                                 std::int64_t token, Exact& out) {
  const double* x = a.x.data() + token * a.cols;
  std::vector<double> w(index(a.cols));
  for (std::int64_t k = 0; k < a.cols; ++k) {
    w[index(k)] = weight(f.id, row, k);
    out.y += w[index(k)] * x[k];
    out.terms += std::fabs(w[index(k)] * x[k]);
  }
  // A sum that reaches the range's end may pass it on the way.
  if (t.poisoned || !std::isfinite(t.y) || !(out.terms < power_of_two(127))) return;
  out.bound = f.is_float ? float_error(f, t, w, x) : quantised_error(f, t, a.plane_count, w);
  out.bound += static_cast<double>(a.cols + 2) * power_of_two(-53) * out.terms;
}

}  // namespace

Exact exact(int id, const std::uint8_t* row, std::int64_t cols, const Activation& x, std::int64_t token) {
  Exact out{0, 0, kInfinity};
  const Facts* f = facts(id);
  if (f == nullptr || row_bytes(id, cols) < 0 || cols != x.cols) return out;
  const Trace t = trace(id, row, cols, x, token);
  const DefaultEnvironment environment;
  reference(*f, row, t, x, token, out);
  return out;
}

}  // namespace lanewise::oracle
