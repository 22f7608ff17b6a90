// The committed golden files: read as golden/README.md says, and every stage of the kernel checked against them.
#include "arithmetic/golden.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "arithmetic/scalar.h"

namespace lanewise::golden {
namespace {

std::filesystem::path folder() { return std::filesystem::path(LANEWISE_SOURCE_DIR) / "tests/arithmetic/golden"; }

std::map<std::string, std::string> committed() {
  std::map<std::string, std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() != ".txt") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    texts[entry.path().filename().string()] = text.str();
  }
  return texts;
}

bool same(float a, float b) { return bits(a) == bits(b) || (std::isnan(a) && std::isnan(b)); }

void check_token(const Token& token, const Trace& trace, const NaturalToken& image, const FormatInfo& info) {
  ASSERT_EQ(trace.poisoned, token.poisoned);
  if (token.poisoned) return;
  if (info.is_float()) {
    ASSERT_EQ(trace.xq.size(), token.q.size());
    for (std::size_t k = 0; k < token.q.size(); ++k) {
      ASSERT_EQ(trace.xq[k], std::ldexp(static_cast<float>(token.q[k]), token.e[k / super_block])) << "xq " << k;
    }
    return;
  }
  ASSERT_EQ(trace.exponents, token.e);
  ASSERT_EQ(trace.q, token.q);
  for (std::size_t p = 0; p < token.planes.size(); ++p) {
    for (std::size_t k = 0; k < token.q.size(); ++k) {
      ASSERT_EQ(image.plane(static_cast<std::uint32_t>(p))[k], token.planes[p][k]) << "plane " << p << " k " << k;
    }
  }
}

void check_steps(const Output& output, const Trace& trace, const FormatInfo& info, const Token& token) {
  ASSERT_EQ(trace.steps.size(), output.steps.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, float> last;
  for (std::size_t i = 0; i < trace.steps.size(); ++i) {
    const TraceStep& got = trace.steps[i];
    const Step& want = output.steps[i];
    SCOPED_TRACE("step " + std::to_string(i));
    ASSERT_EQ(got.k, static_cast<std::uint64_t>(want.k));
    ASSERT_EQ(got.g, static_cast<std::uint32_t>(want.g));
    ASSERT_EQ(got.v, static_cast<std::uint32_t>(want.v));
    ASSERT_EQ(want.kind, info.is_float() ? 'W' : (got.is_min ? 'M' : 'J'));
    if (!info.is_float()) {
      const Sum& sum = output.sums.at(i);
      ASSERT_EQ(sum.k, want.k);
      ASSERT_EQ(sum.is_min, got.is_min);
      for (std::size_t p = 0; p < sum.planes.size(); ++p) ASSERT_EQ(got.sums[p], sum.planes[p]) << "plane " << p;
      ASSERT_EQ(bits(got.value), bits(sum.value)) << "F";
      if (info.kind == FormatKind::EXP) {
        const int power = std::ilogb(sum.scale) + token.e[got.k / super_block];
        ASSERT_EQ(got.scale, capped_power(power));
      } else {
        ASSERT_TRUE(same(got.scale, sum.scale)) << "scale";
      }
    }
    ASSERT_TRUE(same(got.term, want.term) || (info.is_float() && got.term == 0.0F && want.term == 0.0F)) << "term";
    ASSERT_TRUE(same(got.accumulator, want.after)) << "accumulator";
    last[{got.g, got.v}] = got.accumulator;
  }
  for (std::size_t g = 0; g < eighths; ++g) {
    for (std::size_t v = 0; v < output.a[g].size(); ++v) {
      const auto found = last.find({static_cast<std::uint32_t>(g), static_cast<std::uint32_t>(v)});
      ASSERT_TRUE(same(found == last.end() ? 0.0F : found->second, output.a[g][v])) << "a " << g << " " << v;
    }
    if (!output.r.empty()) {
      ASSERT_TRUE(same(trace.eighth_sums[g], output.r[g])) << "r " << g;
    }
  }
}

void check_section(const File& file, const Section& section, const FormatInfo& info) {
  const auto cols = static_cast<std::uint64_t>(file.cols), rows = static_cast<std::uint64_t>(file.rows);
  const auto tokens = static_cast<std::uint64_t>(file.tokens);
  const MatrixView w{info.format, rows, cols, file.weights.data()};
  auto x = Activation::create(static_cast<Planes>(section.planes), tokens, cols);
  ASSERT_TRUE(x.ok() && (*x)->set({file.x.data(), Dtype::f32, tokens, cols, cols}).ok());
  std::vector<float> y(rows * tokens);
  std::vector<std::uint16_t> y_fp16(rows * tokens), y_bf16(rows * tokens);
  gemv_scalar(w, **x, {y.data(), Dtype::f32, rows}, 0, rows);
  gemv_scalar(w, **x, {y_fp16.data(), Dtype::f16, rows}, 0, rows);
  gemv_scalar(w, **x, {y_bf16.data(), Dtype::bf16, rows}, 0, rows);
  ASSERT_EQ(section.outputs.size(), rows * tokens);
  for (const Output& output : section.outputs) {
    SCOPED_TRACE("row " + std::to_string(output.row) + " token " + std::to_string(output.token));
    const auto t = static_cast<std::uint64_t>(output.token), r = static_cast<std::uint64_t>(output.row);
    const Token& token = section.tokens.at(t);
    const Trace trace = trace_scalar(w, **x, r, t);
    ASSERT_NO_FATAL_FAILURE(check_token(token, trace, (*x)->natural(t), info));
    if (!token.poisoned) {
      ASSERT_NO_FATAL_FAILURE(check_steps(output, trace, info, token));
    }
    ASSERT_EQ(bits(trace.y), bits(output.y));
    ASSERT_EQ(bits(y[t * rows + r]), bits(output.y));
    ASSERT_EQ(y_fp16[t * rows + r], output.y_fp16);
    ASSERT_EQ(y_bf16[t * rows + r], output.y_bf16);
  }
}

TEST(Golden, TheKernelHoldsEveryStage) {
  std::set<std::pair<std::string, int>> covered;
  for (const auto& [name, text] : committed()) {
    SCOPED_TRACE(name);
    File file;
    std::string error;
    ASSERT_TRUE(parse(text, file, error)) << error;
    const FormatInfo* info = find_format(std::string_view(file.format));
    ASSERT_NE(info, nullptr);
    ASSERT_EQ(static_cast<int>(info->id), file.id);
    ASSERT_EQ(info->block_elements, static_cast<std::uint32_t>(file.block_elements));
    ASSERT_EQ(info->block_bytes, static_cast<std::uint32_t>(file.block_bytes));
    for (const Section& section : file.sections) {
      SCOPED_TRACE("planes " + std::to_string(section.planes));
      ASSERT_NO_FATAL_FAILURE(check_section(file, section, *info));
      covered.insert({std::string(info->name), section.planes});
    }
  }
  EXPECT_EQ(covered.size(), 3 * formats().size()) << "every format with every number of planes";
}

TEST(Golden, TheToolWouldWriteTheSameFiles) {
  const std::map<std::string, std::string> texts = committed();
  const std::vector<Named> made = make_all();
  EXPECT_EQ(texts.size(), made.size());
  std::size_t bytes = 0;
  for (const Named& named : made) {
    const auto found = texts.find(named.name);
    ASSERT_NE(found, texts.end()) << named.name;
    EXPECT_TRUE(found->second == to_text(named.file)) << named.name << " differs from what make_golden writes";
    bytes += found->second.size();
  }
  EXPECT_LT(bytes, 1'500'000U);
}

TEST(Golden, TheReaderRefusesWhatIsNotTheFormat) {
  const std::string sound = committed().at("Q4_0.txt");
  File whole;
  std::string error;
  ASSERT_TRUE(parse(sound, whole, error)) << error;
  EXPECT_EQ(to_text(whole), sound);
  const auto refused = [&](const std::string& text) {
    File file;
    return !parse(text, file, error);
  };
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused(sound + "y\n"));
  EXPECT_TRUE(refused(sound.substr(0, sound.size() - 4)));
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"arithmetic 1", "arithmetic 2"},
                                                                                 {"\nq 0 16", "\nq 0 15"},
                                                                                 {"\nx 0 0", "\nx 9 0"},
                                                                                 {"\nr ", "\nrr "},
                                                                                 {"\nw 1 0 ", "\nw 1 0 zz"},
                                                                                 {"\nshape 2 288", "\nshape 2 289"},
                                                                                 {"\nend", "\n\nend"}}) {
    std::string changed = sound;
    const std::size_t at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    EXPECT_TRUE(refused(changed.replace(at, from.size(), to))) << to;
  }
}

}  // namespace
}  // namespace lanewise::golden
