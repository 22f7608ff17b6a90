// Prints the accuracy table of docs/arithmetic.md: rms error over rms(y) against float64, K = 4096, Q4_K weights, for
// the activations of Lanewise and, for comparison, for x rounded as other schemes round it with everything else exact.
// Run by hand; nothing depends on it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "arithmetic/fills.h"
#include "arithmetic/scalar.h"
#include "formats/block.h"

namespace lanewise::trial {
namespace {

constexpr std::uint64_t cols = 4096, rows = 256, tokens = 8;
using Values = std::vector<float>;

// Q4_K blocks whose weights are symmetric about zero: mn = sc and dmin = 7.5 d, w = d * sc * (c - 7.5).
std::vector<std::uint8_t> symmetric_q4_K(Random& random) {
  using T = Traits<Format::Q4_K>;
  std::vector<std::uint8_t> bytes = make_weights(Format::Q4_K, rows, cols, WeightFill::random_bytes, random);
  for (std::size_t at = 0; at < bytes.size(); at += T::info.block_bytes) {
    std::uint8_t* block = bytes.data() + at;
    const auto d = static_cast<std::uint16_t>(0x1000 + random.below(16) * 0x40);  // few bits, so that 7.5 d is a half
    write_field(
        block, 1, [](lw_u32 i) { return T::d_part(0, i); }, d);
    write_field(
        block, 1, [](lw_u32 i) { return T::m_part(0, i); },
        oracle::round_to_fp16(7.5F * static_cast<float>(oracle::fp16_value(d))));
    for (lw_u32 g = 0; g < 8; ++g) {
      const auto sc = static_cast<lw_u32>(random.between(16, 63));
      write_field(
          block, T::sc_parts, [g](lw_u32 i) { return T::sc_part(g, i); }, sc);
      write_field(
          block, T::mn_parts, [g](lw_u32 i) { return T::mn_part(g, i); }, sc);
    }
  }
  return bytes;
}

Values gaussian(Random& random) {
  Values x(cols * tokens);
  for (float& value : x) value = random.gauss();
  return x;
}
Values one_in_a_hundred(Random& random) {
  Values x = gaussian(random);
  for (float& value : x) value *= random.below(100) == 0 ? 30.0F : 1.0F;
  return x;
}
Values four_spikes(Random& random) {
  Values x = gaussian(random);
  for (std::uint64_t t = 0; t < tokens; ++t) {
    for (int i = 0; i < 4; ++i) x[t * cols + random.below(cols)] *= 800.0F;
  }
  return x;
}

// x as blocks of `block` int8 under amax / 127; the scale rounded to a half or kept in fp32.
Values eight_bits(const Values& x, std::uint64_t block, bool half_scale) {
  Values out(x.size());
  for (std::uint64_t at = 0; at < x.size(); at += block) {
    float amax = 0;
    for (std::uint64_t i = at; i < at + block; ++i) amax = std::max(amax, std::fabs(x[i]));
    const float d = amax / 127.0F;
    const float kept = half_scale ? static_cast<float>(oracle::fp16_value(oracle::round_to_fp16(d))) : d;
    for (std::uint64_t i = at; i < at + block; ++i) out[i] = d == 0 ? 0 : std::round(x[i] / d) * kept;
  }
  return out;
}
Values halves(const Values& x) {
  Values out(x.size());
  std::ranges::transform(x, out.begin(),
                         [](float v) { return static_cast<float>(oracle::fp16_value(oracle::round_to_fp16(v))); });
  return out;
}

struct Scheme {
  const char* name;
  std::function<std::vector<double>(const Values& x)> y;  // [tokens][rows]
};

void table(Format format) {
  Random random(11);
  const std::vector<std::uint8_t> bytes =
      format == Format::Q4_K ? symmetric_q4_K(random) : make_weights(format, rows, cols, WeightFill::tame, random);
  const MatrixView w{format, rows, cols, bytes.data()};
  Values weights(rows * cols);
  for (std::uint64_t r = 0; r < rows; ++r) dequantize_row(w.format, w.row(r), cols, weights.data() + r * cols);

  const auto exact = [&](const Values& x) {
    std::vector<double> y(rows * tokens);
    for (std::uint64_t i = 0; i < y.size(); ++i) {
      for (std::uint64_t k = 0; k < cols; ++k) {
        y[i] += static_cast<double>(weights[i % rows * cols + k]) * static_cast<double>(x[i / rows * cols + k]);
      }
    }
    return y;
  };
  const auto ours = [&](Planes planes) {
    return [&, planes](const Values& x) {
      std::vector<float> y(rows * tokens);
      auto a = Activation::create(planes, tokens, cols);
      if (a.ok() && (*a)->set({x.data(), Dtype::f32, tokens, cols, cols}).ok()) {
        gemv_scalar(w, **a, {y.data(), Dtype::f32, rows}, 0, rows);
      }
      return std::vector<double>(y.begin(), y.end());
    };
  };
  const auto fp32 = [&](const Values& x) {  // eight running sums, as a SIMD loop has them
    std::vector<double> y(rows * tokens);
    for (std::uint64_t i = 0; i < y.size(); ++i) {
      std::array<float, 8> sums{};
      for (std::uint64_t k = 0; k < cols; ++k) sums[k % 8] += weights[i % rows * cols + k] * x[i / rows * cols + k];
      y[i] = static_cast<double>(((sums[0] + sums[1]) + (sums[2] + sums[3])) +
                                 ((sums[4] + sums[5]) + (sums[6] + sums[7])));
    }
    return y;
  };
  std::vector<Scheme> schemes = {
      {"x8", ours(Planes::x8)},
      {"x16", ours(Planes::x16)},
      {"x24", ours(Planes::x24)},
      {"int8 of 32, fp16 scale", [&](const Values& x) { return exact(eight_bits(x, 32, true)); }},
      {"int8 of 256, fp32 scale", [&](const Values& x) { return exact(eight_bits(x, 256, false)); }},
      {"fp16 x", [&](const Values& x) { return exact(halves(x)); }},
      {"fp32 products and sums", fp32},
  };
  if (w.info().is_float()) schemes = {{"Lanewise", ours(Planes::x16)}, {"fp32 products and sums", fp32}};
  const std::array inputs = {std::pair{"Gaussian", &gaussian}, std::pair{"1 % of x 30 times larger", &one_in_a_hundred},
                             std::pair{"4 elements 800 times larger", &four_spikes}};
  for (const auto& [name, make] : inputs) {
    const Values x = make(random);
    const std::vector<double> reference = exact(x);
    double signal = 0;
    for (const double y : reference) signal += y * y;
    std::printf("%s weights, %s\n", w.info().name.data(), name);
    for (const Scheme& scheme : schemes) {
      const std::vector<double> y = scheme.y(x);
      double error = 0;
      for (std::uint64_t i = 0; i < y.size(); ++i) error += (y[i] - reference[i]) * (y[i] - reference[i]);
      std::printf("  %-24s %.1e\n", scheme.name, std::sqrt(error / signal));
    }
  }
}

}  // namespace
}  // namespace lanewise::trial

int main() {
  using lanewise::Format;
  for (const Format format : {Format::Q4_K, Format::F16, Format::BF16, Format::F32}) lanewise::trial::table(format);
}
