// Sections 2 to 4 of the arithmetic, one explicit function a stage. All floating-point work below the entry
// points runs in the default environment and is compiled without contraction.
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "oracle/numbers.h"
#include "oracle/oracle.h"

namespace lanewise::oracle {
namespace {

constexpr int kQuantAccumulators = 4;
constexpr int kFloatAccumulators = 64;

float canonical_nan() { return std::bit_cast<float>(std::uint32_t{0x7FC00000}); }

// A row taken apart once, for all tokens.
struct Row {
  const Facts* format;
  std::int64_t cols;
  std::vector<std::int32_t> scaled_code;  // sc * c, quantised formats only
  std::vector<std::int32_t> sub_min;      // with a min only
  std::vector<double> d;                  // [dgroup]
  std::vector<double> m;                  // [dgroup], with a min only
};

Row take_apart(const Facts& f, const std::uint8_t* bytes, std::int64_t cols) {
  Row row{&f, cols, {}, {}, {}, {}};
  row.scaled_code.resize(index(cols));
  if (f.has_min) row.sub_min.resize(index(cols));
  for (std::int64_t k = 0; k < cols; ++k) {
    const Element x = element(f.id, bytes, k);
    row.scaled_code[index(k)] = x.sub_scale * x.code;
    if (f.has_min) row.sub_min[index(k)] = x.sub_min;
    if (k % f.dgroup != 0) continue;
    row.d.push_back(x.d);
    if (f.has_min) row.m.push_back(x.m);
  }
  return row;
}

std::int64_t dot(const std::int32_t* a, const std::int8_t* plane, int count) {
  std::int64_t sum = 0;
  for (int i = 0; i < count; ++i) sum += std::int64_t{a[i]} * plane[i];
  return sum;
}

void note(SumRange& range, std::int64_t sum) {
  const std::int64_t size = sum < 0 ? -sum : sum;
  if (size > range.largest) range.largest = size;
  if (size >= std::int64_t{1} << 31) range.fits = false;
}

float join(const std::int64_t* sums, int plane_count) {
  float f = static_cast<float>(sums[0]);
  if (plane_count >= 2) f = f + 256.0f * static_cast<float>(sums[1]);
  if (plane_count == 3) f = f + 65536.0f * static_cast<float>(sums[2]);
  return f;
}

float float_power(int n) { return static_cast<float>(power_of_two(n)); }

// The scale of MXFP4 together with the activation's: exponents added, not numbers multiplied.
float capped_power(int n) {
  if (n < -126) return 0.0f;
  if (n > 90) return std::numeric_limits<float>::infinity();
  return float_power(n);
}

float tree(const float* r) { return (((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))) + 0.0f; }

float finish(const float* a, int accumulators, float* r) {
  for (int g = 0; g < kEighths; ++g) {
    const float* own = a + std::ptrdiff_t{g} * accumulators;
    if (accumulators == kQuantAccumulators) {
      r[g] = (own[0] + own[1]) + (own[2] + own[3]);
      continue;
    }
    float fold[kFloatAccumulators];
    for (int j = 0; j < kFloatAccumulators; ++j) fold[j] = own[j];
    for (int half = kFloatAccumulators / 2; half >= 1; half /= 2) {
      for (int j = 0; j < half; ++j) fold[j] = fold[j] + fold[j + half];
    }
    r[g] = fold[0];
  }
  const float y = tree(r);
  return std::isnan(y) ? canonical_nan() : y;
}

// The four or sixty-four accumulators of each eighth, and the record of what was added to them.
struct Accumulators {
  explicit Accumulators(int count, Trace* record)
      : per_eighth(count), a(index(std::int64_t{kEighths} * count), 0.0f), log(record) {}

  void add(std::int64_t k, int g, int v, bool is_min, float addend) {
    float& own = a[index(g * per_eighth + v)];
    own = own + addend;
    if (log != nullptr) log->steps.push_back({k, g, v, is_min, addend, own});
  }

  float result() {
    float r[kEighths];
    const float y = finish(a.data(), per_eighth, r);
    if (log != nullptr) {
      log->accumulators = per_eighth;
      log->a = a;
      for (int g = 0; g < kEighths; ++g) log->r[g] = r[g];
      log->y = y;
    }
    return y;
  }

  int per_eighth;
  std::vector<float> a;
  Trace* log;
};

float quantised_product(const Row& row, const Activation& x, std::int64_t token, SumRange& range, Trace* log) {
  const Facts& f = *row.format;
  const int planes = x.plane_count;
  Accumulators sum(kQuantAccumulators, log);
  for (std::int64_t group = 0; group * f.dgroup < row.cols; ++group) {
    const std::int64_t k = group * f.dgroup;
    const std::int64_t b = k / kSuperBlock;
    const int g = static_cast<int>(8 * b / x.blocks);
    const int v = static_cast<int>(k % kSuperBlock / f.dgroup % kQuantAccumulators);
    const int e = x.e[index(token * x.blocks + b)];

    std::int64_t J[3] = {};
    std::int64_t M[3] = {};
    for (int p = 0; p < planes; ++p) {
      const std::int8_t* plane = x.planes.data() + (p * x.tokens + token) * x.cols + k;
      J[p] = dot(row.scaled_code.data() + k, plane, f.dgroup);
      note(range, J[p]);
      if (!f.has_min) continue;
      M[p] = dot(row.sub_min.data() + k, plane, f.dgroup);
      note(range, M[p]);
    }

    const double d = row.d[index(group)];
    const float FJ = join(J, planes);
    if (f.exponent_scale) {
      sum.add(k, g, v, false, FJ * capped_power(std::ilogb(d) + e));
    } else {
      const float scaled = static_cast<float>(d) * FJ;
      sum.add(k, g, v, false, scaled * float_power(e));
    }
    float FM = 0;
    if (f.has_min) {
      FM = join(M, planes);
      const float scaled = static_cast<float>(row.m[index(group)]) * FM;
      sum.add(k, g, v, true, scaled * float_power(e));
    }

    if (log == nullptr) continue;
    log->J.insert(log->J.end(), J, J + planes);
    log->FJ.push_back(FJ);
    log->d.push_back(d);
    if (!f.has_min) continue;
    log->M.insert(log->M.end(), M, M + planes);
    log->FM.push_back(FM);
    log->m.push_back(row.m[index(group)]);
  }
  return sum.result();
}

// The activations that float weights meet: integers of fewer bits for F16, so that products are exact.
struct Rounded {
  std::vector<int> e;
  std::vector<std::int32_t> q;
  std::vector<float> xq;
};

Rounded round_activations(const Facts& f, const Activation& x, std::int64_t token) {
  Rounded out;
  for (std::int64_t b = 0; b < x.blocks; ++b) {
    const std::size_t at = index(token * x.blocks + b);
    int e = f.id == 0 ? x.e24[at] : x.e16[at];
    if (f.id == 1) e += 2;
    out.e.push_back(e > -40 ? e : -40);
  }
  for (std::int64_t k = 0; k < x.cols; ++k) {
    const int e = out.e[index(k / kSuperBlock)];
    const auto q = static_cast<std::int32_t>(std::rint(x.x[index(token * x.cols + k)] * power_of_two(-e)));
    out.q.push_back(q);
    out.xq.push_back(static_cast<float>(q) * float_power(e));
  }
  return out;
}

float float_weight(double w) {
  if (std::fabs(w) < power_of_two(-63)) return 0.0f;
  if (std::fabs(w) >= power_of_two(63)) {
    return w < 0 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  }
  return static_cast<float>(w);
}

float float_product(const std::vector<float>& weights, const Rounded& x, std::int64_t blocks, Trace* log) {
  Accumulators sum(kFloatAccumulators, log);
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const auto at = static_cast<std::int64_t>(k);
    const int g = static_cast<int>(8 * (at / kSuperBlock) / blocks);
    const float product = weights[k] * x.xq[k];
    sum.add(at, g, static_cast<int>(at % kFloatAccumulators), false, product);
  }
  return sum.result();
}

std::vector<float> float_weights(const Facts& f, const std::uint8_t* row, std::int64_t cols) {
  std::vector<float> weights(index(cols));
  for (std::int64_t k = 0; k < cols; ++k) weights[index(k)] = float_weight(weight(f.id, row, k));
  return weights;
}

[[gnu::noinline]] void all_rows(const Facts& f, const std::uint8_t* w, std::int64_t rows, std::int64_t cols,
                                const Activation& x, float* y, std::int64_t row_begin, std::int64_t row_end,
                                SumRange& range) {
  const std::int64_t stride = row_bytes(f.id, cols);
  std::vector<Rounded> rounded(index(x.tokens));
  for (std::int64_t token = 0; f.is_float && token < x.tokens; ++token) {
    if (x.poisoned[index(token)] == 0) rounded[index(token)] = round_activations(f, x, token);
  }
  for (std::int64_t n = row_begin; n < row_end; ++n) {
    const std::uint8_t* bytes = w + n * stride;
    const Row row = f.is_float ? Row{} : take_apart(f, bytes, cols);
    const std::vector<float> weights = f.is_float ? float_weights(f, bytes, cols) : std::vector<float>{};
    for (std::int64_t token = 0; token < x.tokens; ++token) {
      float& out = y[token * rows + n];
      if (x.poisoned[index(token)] != 0) {
        out = canonical_nan();
      } else if (f.is_float) {
        out = float_product(weights, rounded[index(token)], x.blocks, nullptr);
      } else {
        out = quantised_product(row, x, token, range, nullptr);
      }
    }
  }
}

[[gnu::noinline]] void one_trace(const Facts& f, const std::uint8_t* row, std::int64_t cols, const Activation& x,
                                 std::int64_t token, Trace& out) {
  if (f.is_float) {
    const Rounded rounded = round_activations(f, x, token);
    float_product(float_weights(f, row, cols), rounded, x.blocks, &out);
    out.e = rounded.e;
    out.q = rounded.q;
    return;
  }
  quantised_product(take_apart(f, row, cols), x, token, out.sums, &out);
  out.e.assign(x.e.begin() + token * x.blocks, x.e.begin() + (token + 1) * x.blocks);
  out.q.assign(x.q.begin() + token * cols, x.q.begin() + (token + 1) * cols);
  for (int p = 0; p < x.plane_count; ++p) {
    const auto first = x.planes.begin() + (p * x.tokens + token) * cols;
    out.planes.insert(out.planes.end(), first, first + cols);
  }
}

[[gnu::noinline]] void joined_into(const std::int64_t* sums, int plane_count, float& out) {
  out = join(sums, plane_count);
}

}  // namespace

float joined(const std::int64_t* plane_sums, int plane_count) {
  const DefaultEnvironment environment;
  float out;
  joined_into(plane_sums, plane_count, out);
  return out;
}

SumRange gemv(int id, const std::uint8_t* w, std::int64_t rows, std::int64_t cols, const Activation& x, float* y,
              std::int64_t row_begin, std::int64_t row_end) {
  SumRange range;
  const Facts* f = facts(id);
  if (f == nullptr || row_bytes(id, cols) < 0 || cols != x.cols) {
    range.fits = false;
    return range;
  }
  const DefaultEnvironment environment;
  all_rows(*f, w, rows, cols, x, y, row_begin, row_end, range);
  return range;
}

Trace trace(int id, const std::uint8_t* row, std::int64_t cols, const Activation& x, std::int64_t token) {
  Trace out;
  const Facts* f = facts(id);
  if (f == nullptr || row_bytes(id, cols) < 0 || cols != x.cols || x.poisoned[index(token)] != 0) {
    out.poisoned = true;
    out.y = canonical_nan();
    return out;
  }
  const DefaultEnvironment environment;
  one_trace(*f, row, cols, x, token, out);
  return out;
}

}  // namespace lanewise::oracle
