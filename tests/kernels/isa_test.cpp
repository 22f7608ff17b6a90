// LANEWISE_ISA, and through the C interface which kernel each instruction set and layout runs: the same bits from all.
#include <gtest/gtest.h>
#include <lanewise/lanewise.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/cpu.h"
#include "formats/formats.h"

namespace lanewise::test {
namespace {

constexpr const char* variable = "LANEWISE_ISA";

// Sets LANEWISE_ISA, or takes it away, and puts back what was there.
class IsaSetting {
 public:
  explicit IsaSetting(const char* name) {
    if (const char* before = std::getenv(variable)) before_ = before;
    set(name);
  }
  ~IsaSetting() { set(before_ ? before_->c_str() : nullptr); }
  IsaSetting(const IsaSetting&) = delete;
  IsaSetting& operator=(const IsaSetting&) = delete;

 private:
  static void set(const char* name) {
    if (name == nullptr) {
      unsetenv(variable);
    } else {
      setenv(variable, name, 1);
    }
  }
  std::optional<std::string> before_;
};

struct Isa {
  const char* name;
  std::uint32_t needs;
};
constexpr std::array isas = {Isa{"scalar", CAP_NONE},   Isa{"avx2", CAP_AVX2}, Isa{"avxvnni", CAP_AVXVNNI},
                             Isa{"avx512", CAP_AVX512}, Isa{"amx", CAP_AMX},   Isa{"neon", CAP_NEON},
                             Isa{"i8mm", CAP_I8MM}};

std::uint32_t all_here() {
  const IsaSetting none(nullptr);
  return cpu_capabilities();
}

TEST(Isa, LeavesTheCapabilitiesUpToItsName) {
  const std::uint32_t here = all_here();
  const std::array<std::uint32_t, isas.size()> left = {CAP_NONE,
                                                       CAP_AVX2,
                                                       CAP_AVX2 | CAP_AVXVNNI,
                                                       CAP_AVX2 | CAP_AVXVNNI | CAP_AVX512,
                                                       CAP_AVX2 | CAP_AVXVNNI | CAP_AVX512 | CAP_AMX,
                                                       CAP_NEON,
                                                       CAP_NEON | CAP_I8MM};
  for (std::size_t i = 0; i < isas.size(); ++i) {
    const IsaSetting setting(isas[i].name);
    EXPECT_EQ(cpu_capabilities(), here & left[i]) << isas[i].name;
    const Outcome outcome = check_cpu_isa();
    if ((isas[i].needs & ~here) == 0) {
      EXPECT_TRUE(outcome.ok()) << isas[i].name;
    } else {
      ASSERT_FALSE(outcome.ok()) << isas[i].name;
      EXPECT_EQ(outcome.error().code, LW_ERROR_UNSUPPORTED);
      EXPECT_NE(outcome.error().message.find(isas[i].name), std::string::npos) << outcome.error().message;
    }
  }
  const IsaSetting none(nullptr);
  EXPECT_TRUE(check_cpu_isa().ok());
}

// Scalar first, then what the processor offers. Where LANEWISE_EXPECT_ISAS lists instruction sets, these are here and
// no others: a test of theirs that is skipped where they are missing can't be skipped.
TEST(Isa, AreThoseExpectedHere) {
  const IsaSetting none(nullptr);
  std::string here;
  for (const std::string_view name : cpu_isas()) here.append(here.empty() ? "" : " ").append(name);
  std::string offered;
  for (const Isa& isa : isas) {
    if ((isa.needs & ~cpu_capabilities()) == 0) offered.append(offered.empty() ? "" : " ").append(isa.name);
  }
  EXPECT_EQ(here, offered);
  if (const char* expected = std::getenv("LANEWISE_EXPECT_ISAS")) {
    EXPECT_EQ(here, expected);
  }
}

// The kernels of another architecture are known by name and not here.
TEST(Isa, CallsThoseOfOtherArchitecturesMissing) {
#if defined(__x86_64__)
  constexpr std::array others = {"neon", "i8mm"};
#else
  constexpr std::array others = {"avx2", "avxvnni", "avx512", "amx"};
#endif
  for (const char* name : others) {
    const IsaSetting setting(name);
    const Outcome outcome = check_cpu_isa();
    ASSERT_FALSE(outcome.ok()) << name;
    EXPECT_EQ(outcome.error().code, LW_ERROR_UNSUPPORTED) << name;
    EXPECT_NE(outcome.error().message.find("lacks; it has: scalar"), std::string::npos) << outcome.error().message;
    lw_device* device = nullptr;
    lw_error error = LW_ERROR_INIT;
    EXPECT_EQ(lw_device_open(nullptr, &device, &error), LW_ERROR_UNSUPPORTED) << name;
    EXPECT_EQ(device, nullptr);
  }
}

TEST(Isa, RefusesNamesItDoesNotKnow) {
  for (const char* name :
       {"", " ", "AVX2", "avx", "avx2 ", "avx512f", "sve", "NEON", "dotprod", "all", "scalar,avx2"}) {
    const IsaSetting setting(name);
    const Outcome outcome = check_cpu_isa();
    ASSERT_FALSE(outcome.ok()) << "'" << name << "'";
    EXPECT_EQ(outcome.error().code, LW_ERROR_NOT_FOUND) << "'" << name << "'";
    EXPECT_NE(outcome.error().message.find("scalar"), std::string::npos) << outcome.error().message;
    EXPECT_EQ(cpu_capabilities(), std::uint32_t{CAP_NONE}) << "'" << name << "'";
    lw_device* device = nullptr;
    lw_error error = LW_ERROR_INIT;
    EXPECT_EQ(lw_device_open(nullptr, &device, &error), LW_ERROR_NOT_FOUND) << "'" << name << "'";
    EXPECT_EQ(device, nullptr);
    EXPECT_NE(std::string(error.message).find(variable), std::string::npos) << error.message;
  }
}

// ---- Through the C interface

template <class T, void (*Close)(T*)>
struct Closer {
  void operator()(T* handle) const { Close(handle); }
};
using Device = std::unique_ptr<lw_device, Closer<lw_device, lw_device_close>>;
using Matrix = std::unique_ptr<lw_matrix, Closer<lw_matrix, lw_matrix_free>>;
using Vectors = std::unique_ptr<lw_activation, Closer<lw_activation, lw_activation_free>>;

Device open_device(const char* layout, std::uint32_t threads, const char* kernel = nullptr) {
  lw_device_options options = LW_DEVICE_OPTIONS_INIT;
  options.layout = layout;
  options.threads = threads;
  options.kernel = kernel;
  lw_device* device = nullptr;
  lw_error error = LW_ERROR_INIT;
  EXPECT_EQ(lw_device_open(&options, &device, &error), LW_OK) << error.message;
  return Device(device);
}

struct Problem {
  FormatInfo info;
  std::uint64_t rows, cols, tokens;
  lw_planes planes;
  std::vector<std::uint8_t> w;
  std::vector<float> x;
};

// Tame bytes: the two upper bits of each are 0, so that no scale is infinite or NaN.
Problem make_problem(const FormatInfo& info, std::uint64_t tokens, lw_planes planes) {
  Problem p{info, 75, info.block_elements == 256 ? 768u : 768u + info.block_elements, tokens, planes, {}, {}};
  std::mt19937_64 random(info.id * 100 + tokens);
  p.w.resize(p.rows * row_bytes(info, p.cols));
  for (std::uint8_t& byte : p.w) byte = static_cast<std::uint8_t>(random() & 0x3Fu);
  p.x.resize(tokens * p.cols);
  for (float& value : p.x) value = static_cast<float>(static_cast<int>(random() % 20001) - 10000) * 0.0003F;
  return p;
}

struct Ran {
  std::string kernel;  ///< the first word of lw_gemv_explain
  std::vector<float> y;
};

Ran run(const Problem& p, lw_device* device) {
  lw_error error = LW_ERROR_INIT;
  lw_matrix* w = nullptr;
  lw_activation* x = nullptr;
  EXPECT_EQ(lw_matrix_from_bytes(device, static_cast<lw_format>(p.info.id), p.rows, p.cols, p.w.data(), p.w.size(), &w,
                                 &error),
            LW_OK)
      << error.message;
  const Matrix matrix(w);
  EXPECT_EQ(lw_activation_create(device, p.planes, p.tokens, p.cols, &x, &error), LW_OK) << error.message;
  const Vectors vectors(x);
  EXPECT_EQ(lw_activation_set(x, LW_DTYPE_F32, p.x.data(), p.tokens, 0, &error), LW_OK) << error.message;
  Ran ran;
  std::array<char, 256> text{};
  EXPECT_EQ(lw_gemv_explain(device, w, x, text.data(), text.size(), &error), LW_OK) << error.message;
  ran.kernel = text.data();
  ran.kernel.resize(ran.kernel.find(':'));
  ran.y.assign(p.tokens * p.rows, -1.0F);
  EXPECT_EQ(lw_gemv(device, w, x, {ran.y.data(), LW_DTYPE_F32, 0}, &error), LW_OK) << error.message;
  return ran;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](float left, float right) {
           return std::bit_cast<std::uint32_t>(left) == std::bit_cast<std::uint32_t>(right);
         });
}

std::string expected_kernel(const Problem& p, std::string_view layout, std::string_view isa) {
  // Float kernels are no different with VNNI; on 64-bit Arm there are none yet.
  const std::string_view float_isa = isa == "avxvnni" ? "avx2" : isa == "neon" || isa == "i8mm" ? "scalar" : isa;
  if (p.info.is_float()) return "cpu.gemv." + std::string(p.info.name) + ".raw.xq." + std::string(float_isa);
  const std::string planes = p.planes == LW_X8 ? "x8" : p.planes == LW_X16 ? "x16" : "x24";
  return std::string("cpu.gemv.") + std::string(p.info.name) + "." + std::string(layout) + "." + planes + "." +
         std::string(isa);
}

// Thread counts and planes rotate over the formats; each instruction set and layout runs with every one of them.
TEST(Isa, RunsItsKernelsWithTheSameBits) {
  constexpr std::array<std::uint32_t, 4> threads = {1, 2, 3, 7};
  constexpr std::array planes = {LW_X8, LW_X16, LW_X24};
  const std::uint32_t here = all_here();
  std::size_t i = 0;
  for (const FormatInfo& info : formats()) {
    const Problem p = make_problem(info, 1 + i % 9, planes[i % planes.size()]);
    ++i;
    std::optional<std::vector<float>> expected;
    for (const Isa& isa : isas) {
      if ((isa.needs & ~here) != 0) continue;
      const IsaSetting setting(isa.name);
      for (const char* layout : {"raw", "rows16"}) {
        // No kernel for rows16 is scalar: the test below.
        if (isa.needs == CAP_NONE && layout == std::string_view("rows16")) continue;
        for (const std::uint32_t count : threads) {
          const Device device = open_device(layout, count);
          ASSERT_NE(device, nullptr);
          const Ran ran = run(p, device.get());
          EXPECT_EQ(ran.kernel, expected_kernel(p, layout, isa.name));
          if (!expected) {
            expected = ran.y;
            EXPECT_NE(ran.y.front(), ran.y.back()) << info.name;
          }
          ASSERT_TRUE(same_bits(ran.y, *expected)) << ran.kernel << " threads " << count;
        }
      }
    }
  }
}

TEST(Isa, RunsAllOfThemOnEveryWindow) {
  const std::uint32_t here = all_here();
  for (std::uint64_t tokens = 1; tokens <= 9; ++tokens) {
    const Problem p = make_problem(format_info(Format::Q4_K), tokens, LW_X16);
    std::optional<std::vector<float>> expected;
    for (const Isa& isa : isas) {
      if ((isa.needs & ~here) != 0) continue;
      const IsaSetting setting(isa.name);
      const Ran ran = run(p, open_device("raw", 2).get());
      EXPECT_EQ(ran.kernel, expected_kernel(p, "raw", isa.name));
      if (!expected) expected = ran.y;
      ASSERT_TRUE(same_bits(ran.y, *expected)) << ran.kernel << " tokens " << tokens;
    }
  }
}

// A device whose processor has no kernel for the layout says so where it is asked, and computes nothing else instead.
TEST(Isa, HasNoScalarKernelForRows16) {
  const IsaSetting setting("scalar");
  lw_device_options options = LW_DEVICE_OPTIONS_INIT;
  options.layout = "rows16";
  lw_device* device = nullptr;
  lw_error error = LW_ERROR_INIT;
  const lw_status opened = lw_device_open(&options, &device, &error);
  const Device owner(device);
  if (opened != LW_OK) {
    EXPECT_EQ(opened, LW_ERROR_UNSUPPORTED) << error.message;
    EXPECT_NE(std::string(error.message).find("rows16"), std::string::npos) << error.message;
    return;
  }
  const Problem p = make_problem(format_info(Format::Q4_K), 1, LW_X16);
  lw_matrix* w = nullptr;
  const lw_status made = lw_matrix_from_bytes(device, LW_Q4_K, p.rows, p.cols, p.w.data(), p.w.size(), &w, &error);
  const Matrix matrix(w);
  if (made != LW_OK) {
    EXPECT_EQ(made, LW_ERROR_UNSUPPORTED) << error.message;
    EXPECT_NE(std::string(error.message).find("rows16"), std::string::npos) << error.message;
    return;
  }
  lw_activation* x = nullptr;
  ASSERT_EQ(lw_activation_create(device, p.planes, 1, p.cols, &x, &error), LW_OK) << error.message;
  const Vectors vectors(x);
  ASSERT_EQ(lw_activation_set(x, LW_DTYPE_F32, p.x.data(), 1, 0, &error), LW_OK) << error.message;
  std::vector<float> y(p.rows, -1.0F);
  EXPECT_EQ(lw_gemv(device, w, x, {y.data(), LW_DTYPE_F32, 0}, &error), LW_ERROR_UNSUPPORTED);
  EXPECT_STREQ(error.message, "cpu has no kernel for q4_K in layout rows16");
  EXPECT_EQ(y, std::vector<float>(p.rows, -1.0F));
}

TEST(Isa, KeepsTheDevicesOwnFromItsOpening) {
  const std::uint32_t here = all_here();
  const auto simd =
      std::ranges::find_if(isas, [here](const Isa& isa) { return isa.needs != CAP_NONE && (isa.needs & ~here) == 0; });
  if (simd == isas.end()) GTEST_SKIP() << "this processor or build has the scalar kernels only";
  const Problem p = make_problem(format_info(Format::Q6_K), 2, LW_X16);
  Device device;
  {
    const IsaSetting setting(simd->name);
    device = open_device("raw", 1);
  }
  const IsaSetting setting("scalar");
  EXPECT_EQ(run(p, device.get()).kernel, expected_kernel(p, "raw", simd->name));
}

// A kernel asked for by name is not there where LANEWISE_ISA rules it out.
TEST(Isa, RulesOutKernelsAskedForByName) {
  const IsaSetting setting("scalar");
  for (const char* name : {"avx2", "avxvnni", "avx512", "amx", "neon", "i8mm"}) {
    lw_device_options options = LW_DEVICE_OPTIONS_INIT;
    options.kernel = name;
    lw_device* device = nullptr;
    lw_error error = LW_ERROR_INIT;
    EXPECT_EQ(lw_device_open(&options, &device, &error), LW_ERROR_UNSUPPORTED) << name;
    EXPECT_EQ(device, nullptr);
    EXPECT_NE(std::string(error.message).find(name), std::string::npos) << error.message;
  }
}

TEST(Layout, RefusesNamesItDoesNotKnow) {
  const IsaSetting none(nullptr);
  for (const char* name : {"", "rows", "ROWS16", "rows16 ", "rows160", "packed"}) {
    lw_device_options options = LW_DEVICE_OPTIONS_INIT;
    options.layout = name;
    lw_device* device = nullptr;
    lw_error error = LW_ERROR_INIT;
    EXPECT_EQ(lw_device_open(&options, &device, &error), LW_ERROR_NOT_FOUND) << "'" << name << "'";
    EXPECT_EQ(device, nullptr);
    EXPECT_EQ(std::string(error.message), "no layout '" + std::string(name) + "': raw, rows16 or frag");
  }
}

}  // namespace
}  // namespace lanewise::test
