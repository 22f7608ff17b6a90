// x as integers, for the shaders that make its image: rounding by integer operations, since no device promises more.
const uint LW_POISON = 0x5F800000u;  // 2^64: from there on, infinities and NaNs included, x is poisoned

// rint(value * 2^-e) without the sign, ties to even; `magnitude` are the bits of |value|.
uint scaled(uint magnitude, int e) {
  uint exponent = max(magnitude >> 23u, 1u);
  uint significand = (magnitude & 0x7FFFFFu) | ((magnitude >> 23u) != 0u ? 0x800000u : 0u);
  int shift = 150 + e - int(exponent);
  if (shift <= 0) return significand << uint(min(-shift, 8));
  uint down = uint(min(shift, 31));
  uint whole = significand >> down;
  uint rest = significand & ((1u << down) - 1u);
  uint middle = 1u << (down - 1u);
  if (rest > middle || (rest == middle && (whole & 1u) != 0u)) ++whole;
  return whole;
}

// The smallest e >= -80 with rint(amax * 2^-e) <= the limit of that many planes.
int block_exponent(uint amax, uint planes) {
  int bits = int(8u * planes) - 1;
  uint limit = planes == 1u ? 127u : planes == 2u ? 32512u : 8355711u;
  int e = max(int(amax >> 23u) - 126 - bits, -80);
  return scaled(amax, e) > limit ? e + 1 : e;
}

float power_of_two(int exponent) { return uintBitsToFloat(uint(exponent + 127) << 23u); }
