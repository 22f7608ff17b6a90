// What the golden files hold, made from the oracle alone: neither the kernel nor the product's decoding takes part.
#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "arithmetic/golden.h"
#include "oracle/oracle.h"
#include "oracle/support.h"

namespace lanewise::golden {
namespace {

namespace po = lanewise::oracle;

// std::mt19937_64's raw output alone, which the standard fixes.
using Engine = std::mt19937_64;

float signed_unit(Engine& engine) {
  return static_cast<float>(static_cast<std::int64_t>(engine() >> 40) - 0x800000) * 0x1p-23F;
}

void put(std::uint8_t* at, std::uint32_t value, int count) {
  for (int i = 0; i < count; ++i) at[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

// Random codes and sub-scales under ordinary scales.
std::vector<std::uint8_t> ordinary_weights(const po::Facts& f, std::int64_t rows, std::int64_t cols, Engine& engine) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(rows * po::row_bytes(f.id, cols)));
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(engine() >> 56);
  for (std::size_t at = 0; at < bytes.size(); at += static_cast<std::size_t>(f.block_bytes)) {
    std::uint8_t* block = bytes.data() + at;
    const auto half = [&] { return static_cast<std::uint16_t>(0x2000 + engine() % 0x0C00 + (engine() & 1) * 0x8000); };
    for (const int offset : po::testing::half_offsets(f.id)) put(block + offset, half(), 2);
    const float w = signed_unit(engine) * 0.1F;
    if (f.id == 0) put(block, bits(w), 4);
    if (f.id == 1) put(block, po::round_to_fp16(w), 2);
    if (f.id == 30) put(block, po::round_to_bf16(w), 2);
    if (f.id == 39) block[0] = static_cast<std::uint8_t>(115 + engine() % 8);
    for (int s = 0; f.id == 40 && s < 4; ++s) block[s] = static_cast<std::uint8_t>(0x20 + engine() % 32);
    if (f.id != 29) continue;
    const unsigned d = half();  // IQ1_M: a nibble of d atop each of four words
    for (unsigned word = 0; word < 4; ++word) {
      std::uint8_t& top = block[49 + 2 * word];
      top = static_cast<std::uint8_t>((top & 15u) | ((d >> (4 * word)) & 15u) << 4);
    }
  }
  return bytes;
}

// Of another magnitude in each super-block.
std::vector<std::uint32_t> ordinary_x(std::int64_t tokens, std::int64_t cols, Engine& engine) {
  std::vector<std::uint32_t> x;
  for (std::int64_t i = 0; i < tokens * cols; ++i) {
    const auto power = static_cast<int>(i % cols / po::kSuperBlock % 3) * 3 - 2;
    x.push_back(bits(std::ldexp(signed_unit(engine) * signed_unit(engine), power)));
  }
  return x;
}

Token token_of(const po::Activation& a, std::int64_t t, const po::Trace& trace) {
  Token out;
  out.poisoned = a.poisoned[static_cast<std::size_t>(t)] != 0;
  if (out.poisoned) return out;
  out.e = trace.e;
  out.q = trace.q;
  const auto cols = static_cast<std::ptrdiff_t>(a.cols);
  for (auto at = trace.planes.begin(); at != trace.planes.end(); at += cols) out.planes.emplace_back(at, at + cols);
  return out;
}

Output output_of(const po::Facts& f, const po::Trace& trace, std::int64_t row, std::int64_t token, std::size_t planes) {
  Output out;
  out.row = row;
  out.token = token;
  for (std::size_t i = 0; i < trace.d.size(); ++i) {
    const auto k = static_cast<std::int64_t>(i) * f.dgroup;
    const auto at = static_cast<std::ptrdiff_t>(i * planes);
    const auto end = at + static_cast<std::ptrdiff_t>(planes);
    out.sums.push_back(
        {k, false, {trace.J.begin() + at, trace.J.begin() + end}, trace.FJ[i], static_cast<float>(trace.d[i])});
    if (!f.has_min) continue;
    out.sums.push_back(
        {k, true, {trace.M.begin() + at, trace.M.begin() + end}, trace.FM[i], static_cast<float>(trace.m[i])});
  }
  for (const po::Step& s : trace.steps) {
    const char kind = f.is_float ? 'W' : (s.is_min ? 'M' : 'J');
    out.steps.push_back({s.k, s.g, s.v, kind, s.addend, s.after});
    auto& a = out.a.at(static_cast<std::size_t>(s.g));
    const auto first = trace.a.begin() + s.g * trace.accumulators;
    if (a.empty()) a.assign(first, first + trace.accumulators);
  }
  if (!trace.poisoned) out.r.assign(trace.r, trace.r + po::kEighths);
  out.y = trace.y;
  out.y_fp16 = po::round_to_fp16(trace.y);
  out.y_bf16 = po::round_to_bf16(trace.y);
  return out;
}

File make(const po::Facts& f, std::string about, std::int64_t rows, std::int64_t cols, std::int64_t tokens,
          std::vector<std::uint8_t> weights, std::vector<std::uint32_t> x, const std::vector<int>& plane_counts) {
  std::string name = f.name;
  File file{std::move(about),   std::move(name), f.id, f.block_elements, f.block_bytes, rows, cols, tokens,
            std::move(weights), std::move(x),    {}};
  for (const int planes : plane_counts) {
    const po::Activation a = po::activate(file.x.data(), po::Input::fp32, tokens, cols, planes);
    Section section{planes, {}, {}};
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t r = 0; r < rows; ++r) {
        const po::Trace trace = po::trace(f.id, file.weights.data() + r * po::row_bytes(f.id, cols), cols, a, t);
        if (r == 0) section.tokens.push_back(token_of(a, t, trace));
        section.outputs.push_back(output_of(f, trace, r, t, static_cast<std::size_t>(planes)));
      }
    }
    file.sections.push_back(std::move(section));
  }
  return file;
}

const std::vector<int> every_planes = {1, 2, 3};

// One token, of two super-blocks (the second short where the format's block allows), through two rows (floats: one).
Named ordinary(const po::Facts& f) {
  Engine engine(1000 + static_cast<std::uint64_t>(f.id));
  const std::int64_t rows = f.is_float ? 1 : 2;
  std::int64_t cols = 512;
  if (f.block_elements == 128) cols = 384;
  if (f.block_elements == 64) cols = 320;
  if (f.block_elements == 32) cols = 288;
  if (f.is_float) cols = 300;
  auto weights = ordinary_weights(f, rows, cols, engine);
  auto x = ordinary_x(1, cols, engine);
  return {std::string(f.name) + ".txt", make(f, "random codes, ordinary scales and x", rows, cols, 1,
                                             std::move(weights), std::move(x), every_planes)};
}

// Sane and poisoned tokens side by side, K of one block.
Named poisoned_tokens() {
  const po::Facts& f = *po::facts(8);
  Engine engine(2001);
  auto weights = ordinary_weights(f, 2, 32, engine);
  auto x = ordinary_x(6, 32, engine);
  x[1 * 32 + 5] = 0x7FC00001u;   // NaN
  x[2 * 32 + 31] = 0xFF800000u;  // -infinity
  x[3 * 32 + 0] = 0x5F800000u;   // 2^64
  x[4 * 32 + 9] = 0x5F7FFFFFu;   // just below: sane
  return {"special_poison.txt",
          make(f, "tokens 1, 2 and 3 hold a NaN, an infinity, 2^64; 4 the largest number that counts; K = 32", 2, 32, 6,
               std::move(weights), std::move(x), every_planes)};
}

// d of every kind, one a row.
Named odd_scales() {
  const po::Facts& f = *po::facts(2);
  Engine engine(2002);
  constexpr std::array<std::uint16_t, 7> halves = {0x7E01, 0x7C00, 0xFC00, 0x8000, 0x0001, 0x83FF, 0x7BFF};
  auto weights = ordinary_weights(f, 7, 96, engine);
  for (std::size_t r = 0; r < halves.size(); ++r) put(weights.data() + r * 54 + 18, halves[r], 2);
  auto x = ordinary_x(1, 96, engine);
  return {"special_scales.txt",
          make(f, "the second block's d: NaN, +inf, -inf, -0, least and negative subnormal, largest; K = 96", 7, 96, 1,
               std::move(weights), std::move(x), every_planes)};
}

// Where x begins to count, and where e changes.
Named edges_of_x() {
  const po::Facts& f = *po::facts(39);
  Engine engine(2003);
  auto weights = ordinary_weights(f, 1, 32, engine);
  std::vector<std::uint32_t> x;
  const auto token = [&](float first) {
    for (int k = 0; k < 32; ++k) x.push_back(bits(k == 0 ? first : signed_unit(engine) * first));
  };
  for (const float limit : {127.0F, 32512.0F, 8355711.0F}) {
    for (const std::uint32_t step : {0u, 1u, 2u}) token(std::bit_cast<float>(bits(limit + 0.5F) - 1 + step));
  }
  for (const float amax : {1.0F, 0x1.fffffep-1F, 0x1p-81F, 0x1.000002p-81F, 0x1p-140F, -0.0F}) token(amax);
  const auto tokens = static_cast<std::int64_t>(x.size() / 32);
  return {
      "special_edges.txt",
      make(f, "amax just below, at and just above (limit + 1/2); 1 and just below; 2^-81 and just above; subnormal; -0",
           1, 32, tokens, std::move(weights), std::move(x), every_planes)};
}

// The power 2^(E-128+e) at and beyond its caps.
Named exponent_caps() {
  const po::Facts& f = *po::facts(39);
  Engine engine(2004);
  constexpr std::array<std::uint8_t, 6> exponents = {0, 1, 2, 128, 254, 255};
  auto weights = ordinary_weights(f, 6, 32, engine);
  for (std::size_t r = 0; r < exponents.size(); ++r) weights[r * 17] = exponents[r];
  auto x = ordinary_x(4, 32, engine);
  for (std::size_t i = 0; i < 32; ++i) {
    x[32 + i] = bits(std::ldexp(std::bit_cast<float>(x[32 + i]), 60));
    x[64 + i] = bits(std::ldexp(std::bit_cast<float>(x[64 + i]), 18));
    x[96 + i] = bits(std::ldexp(std::bit_cast<float>(x[96 + i]), -50));
  }
  return {"special_exponents.txt", make(f, "E of 0, 1, 2, 128, 254, 255 under x of four magnitudes", 6, 32, 4,
                                        std::move(weights), std::move(x), every_planes)};
}

// Weights that count as zero or as infinite.
Named float_limits() {
  const po::Facts& f = *po::facts(0);
  Engine engine(2005);
  auto weights = ordinary_weights(f, 5, 70, engine);
  const auto row = [&](std::size_t r, std::size_t k) { return weights.data() + (r * 70 + k) * 4; };
  for (std::size_t k = 0; k < 70; ++k) {  // row 0: about 2^-63, all that is left of it counts
    put(row(0, k), bits(std::ldexp(signed_unit(engine), -61)), 4);
  }
  put(row(0, 0), bits(0x1p-63F), 4);
  put(row(0, 1), bits(0x1.fffffep-64F), 4);
  put(row(1, 3), bits(0x1.fffffep62F), 4);
  put(row(2, 3), bits(-0x1p63F), 4);
  put(row(3, 69), 0x7F800001u, 4);
  put(row(4, 2), bits(0x1p63F), 4);
  put(row(4, 66), bits(-0x1p63F), 4);
  auto x = ordinary_x(1, 70, engine);
  return {
      "special_float_weights.txt",
      make(f, "about 2^-63, below which a weight is zero; just below 2^63; -2^63 (-inf); NaN; inf against -inf; K = 70",
           5, 70, 1, std::move(weights), std::move(x), {2})};
}

// Nine super-blocks: more than eight, and not a multiple.
Named many_blocks() {
  const po::Facts& f = *po::facts(12);
  Engine engine(2006);
  auto weights = ordinary_weights(f, 1, 2304, engine);
  auto x = ordinary_x(1, 2304, engine);
  return {"special_nine_blocks.txt",
          make(f, "K = 2304: nine super-blocks over the eighths", 1, 2304, 1, std::move(weights), std::move(x), {2})};
}

}  // namespace

std::vector<Named> make_all() {
  std::vector<Named> all;
  for (int i = 0; i < po::kFormatCount; ++i) all.push_back(ordinary(po::all_facts()[i]));
  for (auto& special :
       {poisoned_tokens(), odd_scales(), edges_of_x(), exponent_caps(), float_limits(), many_blocks()}) {
    all.push_back(special);
  }
  return all;
}

}  // namespace lanewise::golden
