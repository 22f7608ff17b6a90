// A caller's rounding mode and flush-to-zero settings change no decoded bit, and are still there afterwards.
#include <cfenv>

#include "formats/support.h"

namespace lanewise::test {
namespace {

class Environment : public testing::TestWithParam<FormatInfo> {};
INSTANTIATE_TEST_SUITE_P(Formats, Environment, testing::ValuesIn(formats().begin(), formats().end()), test_name);

// Sets flushing of subnormals for a scope, where this machine is known to have it.
class Flushing {
 public:
#if defined(__x86_64__)
  Flushing() : saved_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(saved_ | 0x8040u); }  // FTZ and DAZ
  ~Flushing() { __builtin_ia32_ldmxcsr(saved_); }
  static bool on() { return (__builtin_ia32_stmxcsr() & 0x8040u) == 0x8040u; }
#elif defined(__aarch64__)
  Flushing() : saved_(control()) { set(saved_ | 1u << 24); }  // FZ
  ~Flushing() { set(saved_); }
  static bool on() { return (control() >> 24 & 1u) != 0; }
#endif
  Flushing(const Flushing&) = delete;
  Flushing& operator=(const Flushing&) = delete;

 private:
#if defined(__aarch64__)
  static std::uint64_t control() {
    std::uint64_t value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void set(std::uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value)); }
  std::uint64_t saved_;
#else
  unsigned saved_;
#endif
};

// Subnormal results and sums that must be rounded: what a stray setting would change. MXFP4 has the former (exponents 0
// to 2), formats with a min the latter.
Bytes telling_blocks(const FormatInfo& info, Random& random) {
  Bytes bytes = random_blocks(info, 64, random);
  if (info.format == Format::MXFP4) {
    for (std::size_t b = 0; b < 64; ++b) bytes[b * info.block_bytes] = static_cast<std::uint8_t>(b % 4);
  }
  return bytes;
}

TEST_P(Environment, RoundingModesChangeNothing) {
  const FormatInfo& info = GetParam();
  Random random(51 + info.id);
  const Bytes bytes = telling_blocks(info, random);
  const std::vector<float> wanted = dequantized(info, bytes);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    const std::vector<float> got = dequantized(info, bytes);
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(after, mode);
    EXPECT_TRUE(same_bits(info, bytes, got, wanted)) << "rounding mode " << mode;
  }
}

TEST_P(Environment, FlushingChangesNothing) {
  const FormatInfo& info = GetParam();
  Random random(52 + info.id);
  const Bytes bytes = telling_blocks(info, random);
  const std::vector<float> wanted = dequantized(info, bytes);
  std::vector<float> got;
  bool still_on = false;
  {
    const Flushing flushing;
    got = dequantized(info, bytes);
    still_on = Flushing::on();
  }
  EXPECT_TRUE(still_on);
  EXPECT_TRUE(same_bits(info, bytes, got, wanted));
}

}  // namespace
}  // namespace lanewise::test
