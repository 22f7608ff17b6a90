// The choice of a kernel, for processors that this one need not be.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "kernels/kernel.h"
#include "kernels/support.h"

namespace lanewise::test {
namespace {

Problem problem(Format format, Layout layout, Planes planes = Planes::x16) {
  return {format, 64, 512, 1, planes, layout};
}

struct Processor {
  std::string_view name;
  std::uint32_t capabilities;
};
constexpr std::array processors = {
    Processor{"none", CAP_NONE},
    Processor{"avx2", CAP_AVX2},
    Processor{"avx2+vnni", CAP_AVX2 | CAP_AVXVNNI},
    Processor{"avx2+512", CAP_AVX2 | CAP_AVX512},
    Processor{"all", CAP_AVX2 | CAP_AVXVNNI | CAP_AVX512 | CAP_AMX},
    Processor{"vnni alone", CAP_AVXVNNI},
    Processor{"neon", CAP_NEON},
    Processor{"neon+i8mm", CAP_NEON | CAP_I8MM},
};

std::string choices(Format format, Layout layout, std::string_view override_name = {}) {
  std::string text;
  for (const Processor& processor : processors) {
    const auto plan = select(problem(format, layout), "cpu", processor.capabilities, override_name);
    text.append(processor.name).append(": ");
    text.append(plan.ok() ? plan->name : "error, " + plan.error().message).append("\n");
  }
  return text;
}

TEST(Select, TakesTheBestThatTheProcessorHas) {
  EXPECT_EQ(choices(Format::Q4_K, Layout::raw),
            "none: cpu.gemv.q4_K.raw.x16.scalar\n"
            "avx2: cpu.gemv.q4_K.raw.x16.avx2\n"
            "avx2+vnni: cpu.gemv.q4_K.raw.x16.avxvnni\n"
            "avx2+512: cpu.gemv.q4_K.raw.x16.avx512\n"
            "all: cpu.gemv.q4_K.raw.x16.amx\n"
            "vnni alone: cpu.gemv.q4_K.raw.x16.avxvnni\n"
            "neon: cpu.gemv.q4_K.raw.x16.neon\n"
            "neon+i8mm: cpu.gemv.q4_K.raw.x16.i8mm\n");
  EXPECT_EQ(choices(Format::MXFP4, Layout::rows16),
            "none: error, cpu has no kernel for mxfp4 in layout rows16\n"
            "avx2: cpu.gemv.mxfp4.rows16.x16.avx2\n"
            "avx2+vnni: cpu.gemv.mxfp4.rows16.x16.avxvnni\n"
            "avx2+512: cpu.gemv.mxfp4.rows16.x16.avx512\n"
            "all: cpu.gemv.mxfp4.rows16.x16.amx\n"
            "vnni alone: cpu.gemv.mxfp4.rows16.x16.avxvnni\n"
            "neon: cpu.gemv.mxfp4.rows16.x16.neon\n"
            "neon+i8mm: cpu.gemv.mxfp4.rows16.x16.i8mm\n");
  EXPECT_EQ(choices(Format::F16, Layout::raw),
            "none: cpu.gemv.f16.raw.xq.scalar\n"
            "avx2: cpu.gemv.f16.raw.xq.avx2\n"
            "avx2+vnni: cpu.gemv.f16.raw.xq.avx2\n"
            "avx2+512: cpu.gemv.f16.raw.xq.avx512\n"
            "all: cpu.gemv.f16.raw.xq.avx512\n"
            "vnni alone: cpu.gemv.f16.raw.xq.scalar\n"
            "neon: cpu.gemv.f16.raw.xq.scalar\n"
            "neon+i8mm: cpu.gemv.f16.raw.xq.scalar\n");
}

TEST(Select, TakesTheNamedOneOrFails) {
  EXPECT_EQ(choices(Format::Q6_K, Layout::raw, "avx2"),
            "none: error, this device lacks what kernel 'avx2' needs\n"
            "avx2: cpu.gemv.q6_K.raw.x16.avx2\n"
            "avx2+vnni: cpu.gemv.q6_K.raw.x16.avx2\n"
            "avx2+512: cpu.gemv.q6_K.raw.x16.avx2\n"
            "all: cpu.gemv.q6_K.raw.x16.avx2\n"
            "vnni alone: error, this device lacks what kernel 'avx2' needs\n"
            "neon: error, this device lacks what kernel 'avx2' needs\n"
            "neon+i8mm: error, this device lacks what kernel 'avx2' needs\n");
  EXPECT_EQ(choices(Format::Q6_K, Layout::rows16, "cpu.gemv.q6_K.rows16.x16.avxvnni"),
            "none: error, this device lacks what kernel 'cpu.gemv.q6_K.rows16.x16.avxvnni' needs\n"
            "avx2: error, this device lacks what kernel 'cpu.gemv.q6_K.rows16.x16.avxvnni' needs\n"
            "avx2+vnni: cpu.gemv.q6_K.rows16.x16.avxvnni\n"
            "avx2+512: error, this device lacks what kernel 'cpu.gemv.q6_K.rows16.x16.avxvnni' needs\n"
            "all: cpu.gemv.q6_K.rows16.x16.avxvnni\n"
            "vnni alone: cpu.gemv.q6_K.rows16.x16.avxvnni\n"
            "neon: error, this device lacks what kernel 'cpu.gemv.q6_K.rows16.x16.avxvnni' needs\n"
            "neon+i8mm: error, this device lacks what kernel 'cpu.gemv.q6_K.rows16.x16.avxvnni' needs\n");
  EXPECT_EQ(choices(Format::Q6_K, Layout::raw, "scalar"),
            "none: cpu.gemv.q6_K.raw.x16.scalar\n"
            "avx2: cpu.gemv.q6_K.raw.x16.scalar\n"
            "avx2+vnni: cpu.gemv.q6_K.raw.x16.scalar\n"
            "avx2+512: cpu.gemv.q6_K.raw.x16.scalar\n"
            "all: cpu.gemv.q6_K.raw.x16.scalar\n"
            "vnni alone: cpu.gemv.q6_K.raw.x16.scalar\n"
            "neon: cpu.gemv.q6_K.raw.x16.scalar\n"
            "neon+i8mm: cpu.gemv.q6_K.raw.x16.scalar\n");
  EXPECT_EQ(select(problem(Format::Q6_K, Layout::raw), "cpu", CAP_NEON | CAP_I8MM, "neon")->name,
            "cpu.gemv.q6_K.raw.x16.neon");
}

TEST(Select, SaysWhyItTookAKernel) {
  const Problem p = problem(Format::Q4_K, Layout::raw);
  EXPECT_EQ(select(p, "cpu", CAP_NONE)->why, "the first of the list that this device can run");
  EXPECT_EQ(select(p, "cpu", CAP_NONE, "scalar")->why, "asked for by name");
}

TEST(Select, RefusesWhatItDoesNotKnow) {
  constexpr std::uint32_t all = CAP_AVX2 | CAP_AVXVNNI | CAP_AVX512;
  const std::array<std::string_view, 9> unknown = {"avx",
                                                   "AVX2",
                                                   "avx2 ",
                                                   "avx512.",
                                                   "cpu.gemv.q4_K.raw.x16.",
                                                   "cpu.gemv.q4_K.raw.x8.avx2",
                                                   "cpu.gemv.q4_K.rows16.x16.avx2",
                                                   "cpu.gemv.q5_K.raw.x16.avx2",
                                                   "gpu.gemv.q4_K.raw.x16.avx2"};
  for (const std::string_view name : unknown) {
    const auto plan = select(problem(Format::Q4_K, Layout::raw), "cpu", all, name);
    ASSERT_FALSE(plan.ok()) << name;
    EXPECT_EQ(plan.error().code, LW_ERROR_NOT_FOUND) << name;
    EXPECT_NE(plan.error().message.find("'" + std::string(name) + "'"), std::string::npos) << plan.error().message;
    EXPECT_EQ(find_kernel(problem(Format::Q4_K, Layout::raw), "cpu", all, name), nullptr) << name;
  }
  EXPECT_FALSE(select(problem(Format::Q4_K, Layout::raw), "tpu", all).ok());
  // The scalar kernel knows no rows16: by its name an unknown one there.
  const auto scalar = select(problem(Format::Q4_K, Layout::rows16), "cpu", all, "scalar");
  ASSERT_FALSE(scalar.ok());
  EXPECT_EQ(scalar.error().code, LW_ERROR_NOT_FOUND);
}

TEST(Select, RefusesFloatsInRows16) {
  for (const FormatInfo& info : formats()) {
    if (!info.is_float()) continue;
    for (const Processor& processor : processors) {
      const auto plan = select(problem(info.format, Layout::rows16), "cpu", processor.capabilities);
      ASSERT_FALSE(plan.ok()) << info.name;
      EXPECT_EQ(plan.error().code, LW_ERROR_UNSUPPORTED);
      EXPECT_EQ(plan.error().message, "cpu has no kernel for " + std::string(info.name) + " in layout rows16");
    }
    EXPECT_EQ(select(problem(info.format, Layout::raw), "cpu", CAP_AVX2, "avxvnni").error().code, LW_ERROR_NOT_FOUND);
  }
}

// A row may have shaders for some formats of its class alone.
TEST(Select, TakesARowOfShadersOnlyForFormatsThatItHasThemFor) {
  for (const FormatInfo& info : formats()) {
    for (const Layout layout : {Layout::raw, Layout::rows16}) {
      const Problem p = problem(info.format, layout);
      const KernelDesc* chosen = find_kernel(p, "vulkan", ~0u);
      for (const KernelDesc& kernel : kernels("vulkan")) {
        if (kernel.layout != layout || !accepts(kernel.formats, info) || !is_built(kernel, info.format)) continue;
        ASSERT_NE(chosen, nullptr) << info.name;
        EXPECT_TRUE(is_built(*chosen, info.format)) << info.name << ": " << chosen->name;
      }
    }
  }
}

TEST(Select, NeverTakesWhatTheProcessorLacks) {
  std::set<std::string_view> taken;
  for (std::uint32_t bits = 0; bits < 64; ++bits) {
    const std::uint32_t capabilities = (bits & 31) | ((bits & 32) != 0 ? std::uint32_t{CAP_AMX} : 0);
    for (const FormatInfo& info : formats()) {
      for (const Layout layout : {Layout::raw, Layout::rows16}) {
        for (const Planes planes : {Planes::x8, Planes::x16, Planes::x24}) {
          const Problem p = problem(info.format, layout, planes);
          const KernelDesc* kernel = find_kernel(p, "cpu", capabilities);
          const auto plan = select(p, "cpu", capabilities);
          ASSERT_EQ(kernel != nullptr, plan.ok());
          ASSERT_EQ(kernel != nullptr, layout == Layout::raw || (!info.is_float() && capabilities != 0));
          if (kernel == nullptr) continue;
          taken.insert(kernel->name);
          EXPECT_EQ(plan->kernel, kernel);
          EXPECT_EQ(plan->name, kernel_name(*kernel, info, planes));
          EXPECT_EQ(kernel->needs & ~capabilities, 0u);
          EXPECT_EQ(kernel->layout, layout);
          // Its full name chooses it again.
          EXPECT_EQ(find_kernel(p, "cpu", capabilities, plan->name), kernel);
        }
      }
    }
  }
  EXPECT_EQ(taken, (std::set<std::string_view>{"scalar", "avx2", "avxvnni", "avx512", "amx", "neon", "i8mm"}));
}

}  // namespace
}  // namespace lanewise::test
