#include "arithmetic/stages.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

namespace lanewise::trial {
namespace {

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

// Any NaN stands for any other before the last stage: IEEE leaves the payload open.
bool same(float a, float b) { return bits(a) == bits(b) || (std::isnan(a) && std::isnan(b)); }

std::string hex(float x) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", bits(x));
  return text;
}
std::string show(float x) { return hex(x); }
template <class Integer>
std::string show(Integer x) {
  return std::to_string(x);
}

template <class A, class B>
std::string differ(const std::string& stage, std::uint64_t at, A kernel, B oracle) {
  return stage + "[" + std::to_string(at) + "]: " + show(kernel) + ", oracle " + show(oracle);
}

constexpr std::size_t at(std::uint64_t i) { return static_cast<std::size_t>(i); }

std::string input_difference(const FormatInfo& info, const Trace& kernel, const oracle::Trace& oracle) {
  const std::vector<std::int32_t>& q = oracle.q;
  if (info.is_float()) {
    if (kernel.xq.size() != q.size()) return differ("number of xq", 0, kernel.xq.size(), q.size());
    for (std::size_t k = 0; k < q.size(); ++k) {
      const float xq = static_cast<float>(q[k]) * std::ldexp(1.0F, oracle.e[k / super_block]);
      // q holds no sign of zero: -0 and 0 are the same xq.
      if (kernel.xq[k] != xq) return differ("xq", k, kernel.xq[k], xq);
    }
    return {};
  }
  if (kernel.exponents.size() != oracle.e.size())
    return differ("number of e", 0, kernel.exponents.size(), oracle.e.size());
  for (std::size_t b = 0; b < oracle.e.size(); ++b) {
    if (kernel.exponents[b] != oracle.e[b]) return differ("e", b, kernel.exponents[b], oracle.e[b]);
  }
  if (kernel.q.size() != q.size()) return differ("number of q", 0, kernel.q.size(), q.size());
  for (std::size_t k = 0; k < q.size(); ++k) {
    if (kernel.q[k] != q[k]) return differ("q", k, kernel.q[k], q[k]);
  }
  return {};
}

// What led to an addition of a quantised format: the sums, F and the scale.
std::string sum_difference(const FormatInfo& info, const TraceStep& step, const oracle::Trace& oracle,
                           std::size_t planes, std::int32_t e) {
  const std::size_t i = at(step.k / info.dgroup);
  const auto& sums = step.is_min ? oracle.M : oracle.J;
  for (std::size_t p = 0; p < planes; ++p) {
    if (step.sums[p] != sums[i * planes + p]) {
      return differ(std::string(step.is_min ? "M_" : "J_") + std::to_string(p), i, step.sums[p], sums[i * planes + p]);
    }
  }
  const float value = step.is_min ? oracle.FM[i] : oracle.FJ[i];
  if (bits(step.value) != bits(value)) return differ(step.is_min ? "F(M)" : "F(J)", i, step.value, value);
  const double exact = step.is_min ? oracle.m[i] : oracle.d[i];
  auto scale = static_cast<float>(exact);
  if (info.kind == FormatKind::EXP) {
    const int exponent = std::ilogb(exact) + e;
    scale = exponent > 90 ? __builtin_inff() : (exponent < -126 ? 0.0F : std::ldexp(1.0F, exponent));
  }
  if (!same(step.scale, scale)) return differ(step.is_min ? "m" : "d", i, step.scale, scale);
  return {};
}

}  // namespace

std::string first_difference(const FormatInfo& info, const Trace& kernel, const oracle::Trace& oracle) {
  if (kernel.poisoned != oracle.poisoned) return differ("poisoned", 0, int{kernel.poisoned}, int{oracle.poisoned});
  if (!oracle.poisoned) {
    if (std::string input = input_difference(info, kernel, oracle); !input.empty()) return input;
    if (kernel.steps.size() != oracle.steps.size()) {
      return differ("number of steps", 0, kernel.steps.size(), oracle.steps.size());
    }
    const std::size_t planes = info.is_float() ? 0 : oracle.planes.size() / oracle.q.size();
    for (std::size_t i = 0; i < oracle.steps.size(); ++i) {
      const TraceStep& a = kernel.steps[i];
      const oracle::Step& b = oracle.steps[i];
      if (a.k != static_cast<std::uint64_t>(b.k)) return differ("k of step", i, a.k, b.k);
      if (a.g != static_cast<std::uint32_t>(b.g)) return differ("g of step", i, a.g, b.g);
      if (a.v != static_cast<std::uint32_t>(b.v)) return differ("v of step", i, a.v, b.v);
      if (a.is_min != b.is_min) return differ("min of step", i, int{a.is_min}, int{b.is_min});
      if (!info.is_float()) {
        const std::int32_t e = oracle.e[at(a.k / super_block)];
        if (std::string sums = sum_difference(info, a, oracle, planes, e); !sums.empty()) return sums;
      }
      // xq keeps the sign of a zero, the oracle's q doesn't; no accumulator tells them apart, as none is ever -0.
      if (!same(a.term, b.addend) && !(info.is_float() && a.term == 0.0F && b.addend == 0.0F))
        return differ("term of step", i, a.term, b.addend);
      if (!same(a.accumulator, b.after)) return differ("accumulator after step", i, a.accumulator, b.after);
    }
    for (std::size_t g = 0; g < eighths; ++g) {
      if (!same(kernel.eighth_sums[g], oracle.r[g])) return differ("r", g, kernel.eighth_sums[g], oracle.r[g]);
    }
  }
  if (bits(kernel.y) != bits(oracle.y)) return differ("y", 0, kernel.y, oracle.y);
  return {};
}

std::string first_difference(const Activation& kernel, const oracle::Activation& oracle) {
  const std::uint32_t planes = plane_count(kernel.planes());
  const std::uint64_t cols = kernel.cols();
  if (kernel.tokens() != static_cast<std::uint64_t>(oracle.tokens)) {
    return differ("tokens", 0, kernel.tokens(), oracle.tokens);
  }
  for (std::uint64_t t = 0; t < kernel.tokens(); ++t) {
    const std::string where = "token " + std::to_string(t) + " ";
    const NaturalToken token = kernel.natural(t);
    const bool poisoned = oracle.poisoned[at(t)] != 0;
    if (token.poisoned != poisoned) return differ(where + "poisoned", 0, int{token.poisoned}, int{poisoned});
    for (std::uint64_t b = 0; b < kernel.blocks(); ++b) {
      const int e = oracle.e[at(t * kernel.blocks() + b)];
      if (token.exponents[b] != e) return differ(where + "e", b, token.exponents[b], e);
      if (bits(token.powers[b]) != bits(std::ldexp(1.0F, e))) {
        return differ(where + "2^e", b, token.powers[b], std::ldexp(1.0F, e));
      }
    }
    for (std::uint32_t p = 0; p < planes; ++p) {
      const std::string plane = where + "plane " + std::to_string(p);
      const std::uint64_t start = (p * kernel.tokens() + t) * cols;
      for (std::uint64_t k = 0; k < token.padded_cols; ++k) {
        const int expected = k < cols ? oracle.planes[at(start + k)] : 0;
        if (token.plane(p)[k] != expected) return differ(plane, k, int{token.plane(p)[k]}, expected);
      }
      for (std::uint64_t s = 0; s < token.padded_cols / sum_group; ++s) {
        int expected = 0;
        for (std::uint64_t k = s * sum_group; k < std::min(cols, (s + 1) * sum_group); ++k) {
          expected += oracle.planes[at(start + k)];
        }
        if (token.plane_sums(p)[s] != expected) return differ(plane + " sums", s, token.plane_sums(p)[s], expected);
      }
    }
  }
  return {};
}

}  // namespace lanewise::trial
