// Element-indexed decoding: for each format, where in its block do the bits of element k live? Block layouts
// read from the decoders of gguf 0.19.0 (MIT, ggml authors), Q1_0 and Q2_0 from their published facts.
#include <bit>
#include <cmath>
#include <cstddef>

#include "oracle/grids.h"
#include "oracle/numbers.h"
#include "oracle/oracle.h"

namespace lanewise::oracle {
namespace {

using Bytes = const std::uint8_t*;

// `count` bits (at most 9) of a little-endian bit string from bit `at` on.
int bits(Bytes p, int at, int count) {
  const Bytes first = p + at / 8;
  const int shift = at % 8;
  unsigned value = first[0];
  if (shift + count > 8) value |= static_cast<unsigned>(first[1]) << 8;
  return static_cast<int>(value >> shift & ((1u << count) - 1));
}

int nibble(Bytes p, int byte, int which) { return bits(p, 8 * byte + 4 * which, 4); }
int signed_byte(std::uint8_t b) { return b < 128 ? b : b - 256; }
double half_at(Bytes p) { return fp16_value(static_cast<std::uint16_t>(p[0] | p[1] << 8)); }

Element plain(double d, int code) { return {code, 1, 0, d, 0}; }
Element scaled(double d, int sub_scale, int code) { return {code, sub_scale, 0, d, 0}; }

// The 32-element formats keep element k in the low nibble of byte k, element k + 16 in its high one.
int nibble_of_32(Bytes qs, int k) { return nibble(qs, k % 16, k / 16); }

// Q2_K, Q3_K and TQ2_0: 32 bytes hold 128 elements, bits 2i and 2i+1 those of the i-th run of 32.
int two_bits_of_256(Bytes qs, int k) { return bits(qs, 8 * (k / 128 * 32 + k % 32) + k % 128 / 32 * 2, 2); }

// Q4_K and Q5_K: 32 bytes hold 64 elements, the first 32 in the low nibbles.
int nibble_of_256(Bytes qs, int k) { return nibble(qs, k / 64 * 32 + k % 32, k % 64 / 32); }

// Six-bit scale (part 0) or min (part 1) of group s in the 12 bytes of Q4_K and Q5_K.
int six_bits(Bytes scales, int s, int part) {
  if (s < 4) return bits(scales, 8 * (4 * part + s), 6);
  return nibble(scales, 8 + s - 4, part) | bits(scales, 8 * (4 * part + s - 4) + 6, 2) << 4;
}

// E2M1, doubled.
int e2m1(int b) {
  const int exponent = b >> 1 & 3;
  const int fraction = b & 1;
  const int magnitude = exponent == 0 ? fraction : (2 + fraction) << (exponent - 1);
  return (b & 8) != 0 ? -magnitude : magnitude;
}

// E4M3 without its sign, halved; the two patterns that stand for no scale give 0, but 0xFF does not.
double e4m3_half(std::uint8_t b) {
  if (b == 0x7F) return 0;
  const int exponent = b >> 3 & 15;
  const int fraction = b & 7;
  return exponent == 0 ? fraction * power_of_two(-10) : (8 + fraction) * power_of_two(exponent - 11);
}

int iq4(int index) {
  static constexpr int kValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  return kValues[index];
}

// Seven explicit signs; the eighth makes the number of minus signs even.
bool negative_by_parity(int seven, int j) {
  return j < 7 ? (seven >> j & 1) != 0 : std::popcount(static_cast<unsigned>(seven)) % 2 != 0;
}

int from_grid(const Grid& grid, int entry, int j) { return grid.values[entry * grid.width + j]; }

Element q2_k(Bytes b, int k) {
  const int s = k / 16;
  return {two_bits_of_256(b + 16, k), nibble(b, s, 0), nibble(b, s, 1), half_at(b + 80), -half_at(b + 82)};
}

Element q3_k(Bytes b, int k) {
  const int s = k / 16;
  const int scale = nibble(b, 96 + s % 8, s / 8) | bits(b, 8 * (104 + s % 4) + s / 4 * 2, 2) << 4;
  const int q = two_bits_of_256(b + 32, k) | bits(b, 8 * (k % 32) + k / 32, 1) << 2;
  return scaled(half_at(b + 108), scale - 32, q - 4);
}

Element q4_k(Bytes b, int k) {
  const int s = k / 32;
  return {nibble_of_256(b + 16, k), six_bits(b + 4, s, 0), six_bits(b + 4, s, 1), half_at(b), -half_at(b + 2)};
}

Element q5_k(Bytes b, int k) {
  const int s = k / 32;
  const int q = nibble_of_256(b + 48, k) | bits(b, 8 * (16 + k % 32) + k / 32, 1) << 4;
  return {q, six_bits(b + 4, s, 0), six_bits(b + 4, s, 1), half_at(b), -half_at(b + 2)};
}

Element q6_k(Bytes b, int k) {
  const int half = k / 128;
  const int r = k % 128;
  const int low = nibble(b, 64 * half + r % 64, r / 64);
  const int high = bits(b, 8 * (128 + 32 * half + r % 32) + r / 32 * 2, 2);
  return scaled(half_at(b + 208), signed_byte(b[192 + k / 16]), (low | high << 4) - 32);
}

Element iq2_xxs(Bytes b, int k) {
  const Bytes p = b + 2 + 8L * (k / 32);  // four entries, then four 7-bit signs and a 4-bit scale
  const int entry = k % 32 / 8;
  const int value = from_grid(grid_iq2_xxs(), p[entry], k % 8);
  const bool negative = negative_by_parity(bits(p, 32 + 7 * entry, 7), k % 8);
  return scaled(half_at(b) / 8, 2 * bits(p, 60, 4) + 1, negative ? -value : value);
}

Element iq2_xs(Bytes b, int k) {
  const int at = 16 * (1 + k / 8);  // a 9-bit entry and 7 signs
  const int value = from_grid(grid_iq2_xs(), bits(b, at, 9), k % 8);
  const bool negative = negative_by_parity(bits(b, at + 9, 7), k % 8);
  return scaled(half_at(b) / 8, 2 * bits(b, 8 * 66 + 4 * (k / 16), 4) + 1, negative ? -value : value);
}

Element iq2_s(Bytes b, int k) {
  const int entry = b[2 + k / 8] | bits(b, 8 * 66 + 2 * (k / 8), 2) << 8;
  const int value = from_grid(grid_iq2_s(), entry, k % 8);
  const bool negative = bits(b, 8 * 34 + k, 1) != 0;
  return scaled(half_at(b) / 8, 2 * bits(b, 8 * 74 + 4 * (k / 16), 4) + 1, negative ? -value : value);
}

Element iq3_xxs(Bytes b, int k) {
  const Bytes p = b + 66 + 4L * (k / 32);  // four 7-bit signs and a 4-bit scale
  const int value = from_grid(grid_iq3_xxs(), b[2 + k / 4], k % 4);
  const bool negative = negative_by_parity(bits(p, 7 * (k % 32 / 8), 7), k % 8);
  return scaled(half_at(b) / 4, 2 * bits(p, 28, 4) + 1, negative ? -value : value);
}

Element iq3_s(Bytes b, int k) {
  const int entry = b[2 + k / 4] | bits(b, 8 * 66 + k / 4, 1) << 8;
  const int value = from_grid(grid_iq3_s(), entry, k % 4);
  const bool negative = bits(b, 8 * 74 + k, 1) != 0;
  return scaled(half_at(b), 2 * bits(b, 8 * 106 + 4 * (k / 32), 4) + 1, negative ? -value : value);
}

Element iq1_s(Bytes b, int k) {
  const Bytes word = b + 34 + 2L * (k / 32);  // four 3-bit entry tops, a 3-bit scale, the shift's sign
  const int entry = b[2 + k / 8] | bits(word, 3 * (k % 32 / 8), 3) << 8;
  const int shift = bits(word, 15, 1) != 0 ? -1 : 1;
  return scaled(half_at(b) / 8, 2 * bits(word, 12, 3) + 1, 8 * from_grid(grid_iq1(), entry, k % 8) + shift);
}

Element iq1_m(Bytes b, int k) {
  const int entry = b[k / 8] | bits(b, 8 * 32 + 4 * (k / 8), 3) << 8;
  const int shift = bits(b, 8 * 32 + 4 * (k / 8) + 3, 1) != 0 ? -1 : 1;
  int d = 0;  // a nibble of it tops each of the four scale words
  for (int word = 0; word < 4; ++word) d |= bits(b, 8 * 48 + 16 * word + 12, 4) << (4 * word);
  const int s = k / 16;
  const int scale = bits(b, 8 * 48 + 16 * (s / 4) + 3 * (s % 4), 3);
  return scaled(fp16_value(static_cast<std::uint16_t>(d)) / 8, 2 * scale + 1,
                8 * from_grid(grid_iq1(), entry, k % 8) + shift);
}

Element iq4_xs(Bytes b, int k) {
  const int s = k / 32;
  const int scale = bits(b, 8 * 4 + 4 * s, 4) | bits(b, 8 * 2 + 2 * s, 2) << 4;
  return scaled(half_at(b), scale - 32, iq4(nibble_of_32(b + 8 + 16L * s, k % 32)));
}

// Byte x holds the base-3 fraction x/256: its n-th digit is the integer part after n+1 multiplications by 3,
// each keeping 8 bits.
Element tq1_0(Bytes b, int k) {
  int byte;
  int digit;
  if (k < 160) {
    byte = k % 32;
    digit = k / 32;
  } else if (k < 240) {
    byte = 32 + (k - 160) % 16;
    digit = (k - 160) / 16;
  } else {
    byte = 48 + (k - 240) % 4;
    digit = (k - 240) / 4;
  }
  int x = b[byte];
  for (int i = 0; i < digit; ++i) x = x * 3 % 256;
  return plain(half_at(b + 52), x * 3 / 256 - 1);
}

Element in_block(int id, Bytes b, int k) {
  switch (id) {
    case 0:
      return plain(fp32_value(static_cast<std::uint32_t>(b[0]) | static_cast<std::uint32_t>(b[1]) << 8 |
                              static_cast<std::uint32_t>(b[2]) << 16 | static_cast<std::uint32_t>(b[3]) << 24),
                   1);
    case 1:
      return plain(half_at(b), 1);
    case 2:
      return plain(half_at(b), nibble_of_32(b + 2, k) - 8);
    case 3:
      return {nibble_of_32(b + 4, k), 1, 1, half_at(b), half_at(b + 2)};
    case 6:
      return plain(half_at(b), (nibble_of_32(b + 6, k) | bits(b + 2, k, 1) << 4) - 16);
    case 7:
      return {nibble_of_32(b + 8, k) | bits(b + 4, k, 1) << 4, 1, 1, half_at(b), half_at(b + 2)};
    case 8:
      return plain(half_at(b), signed_byte(b[2 + k]));
    case 10:
      return q2_k(b, k);
    case 11:
      return q3_k(b, k);
    case 12:
      return q4_k(b, k);
    case 13:
      return q5_k(b, k);
    case 14:
      return q6_k(b, k);
    case 16:
      return iq2_xxs(b, k);
    case 17:
      return iq2_xs(b, k);
    case 18:
      return iq3_xxs(b, k);
    case 19:
      return iq1_s(b, k);
    case 20:
      return plain(half_at(b), iq4(nibble_of_32(b + 2, k)));
    case 21:
      return iq3_s(b, k);
    case 22:
      return iq2_s(b, k);
    case 23:
      return iq4_xs(b, k);
    case 29:
      return iq1_m(b, k);
    case 30:
      return plain(bf16_value(static_cast<std::uint16_t>(b[0] | b[1] << 8)), 1);
    case 34:
      return tq1_0(b, k);
    case 35:
      return plain(half_at(b + 64), two_bits_of_256(b, k) - 1);
    case 39:
      return plain(power_of_two(b[0] - 128), e2m1(nibble_of_32(b + 1, k)));
    case 40:
      return plain(e4m3_half(b[k / 16]), e2m1(nibble(b, 4 + k / 16 * 8 + k % 8, k % 16 / 8)));
    case 41:
      return plain(half_at(b), bits(b + 2, k, 1) != 0 ? 1 : -1);
    case 42:
      return plain(half_at(b), bits(b + 2, 2 * k, 2) - 1);
    default:
      return {};
  }
}

Element at(const Facts& f, Bytes row, std::int64_t k) {
  // Block sizes are powers of two; a 64-bit division would cost as much as the rest.
  const int shift = std::countr_zero(static_cast<unsigned>(f.block_elements));
  const std::int64_t block = k >> shift;
  return in_block(f.id, row + block * f.block_bytes, static_cast<int>(k - (block << shift)));
}

// Products and sum are exact in double: every part is a multiple of a fixed unit, 2^-27 or more where there
// is a sum, and below 2^27.
double value(const Facts& f, const Element& x) {
  const double product = x.d * x.sub_scale * x.code;
  if (!f.has_min) return product;
  const double offset = x.m * x.sub_min;
  const double sum = product + offset;
  // A zero that cancels is +0, also for a caller that rounds downwards.
  if (sum == 0) return std::signbit(product) && std::signbit(offset) ? -0.0 : 0.0;
  return sum;
}

}  // namespace

Element element(int id, const std::uint8_t* row, std::int64_t k) {
  const Facts* f = facts(id);
  return f == nullptr ? Element{} : at(*f, row, k);
}

double weight(int id, const std::uint8_t* row, std::int64_t k) {
  const Facts* f = facts(id);
  return f == nullptr ? 0 : value(*f, at(*f, row, k));
}

float dequantized(int id, const std::uint8_t* row, std::int64_t k) { return round_to_fp32(weight(id, row, k)); }

void dequantize_row(int id, const std::uint8_t* row, std::int64_t cols, float* out) {
  const Facts* f = facts(id);
  if (f == nullptr) return;
  for (std::int64_t k = 0; k < cols; ++k) out[k] = round_to_fp32(value(*f, at(*f, row, k)));
}

}  // namespace lanewise::oracle
