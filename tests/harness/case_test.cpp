#include "harness/case.h"

#include <gtest/gtest.h>

#include <set>

namespace lanewise {
namespace {

std::string refusal(std::string_view text) {
  const auto parsed = parse_case(text);
  return parsed ? "accepted" : parsed.error().message;
}

TEST(ProblemString, ReadsAndPrintsTheDocumentedOne) {
  const std::string text =
      "gemv:q4_K:4096x14336:tokens=4:act=x16:layout=raw:kernel=cpu.gemv.q4_K.raw.x16.scalar:fill=gauss:seed=7";
  const auto parsed = parse_case(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->format, Format::Q4_K);
  EXPECT_EQ(parsed->cols, 4096U);
  EXPECT_EQ(parsed->rows, 14336U);
  EXPECT_EQ(parsed->tokens, 4U);
  EXPECT_EQ(parsed->seed, 7U);
  EXPECT_EQ(parsed->kernel, "cpu.gemv.q4_K.raw.x16.scalar");
  EXPECT_EQ(to_string(*parsed), text);
}

TEST(ProblemString, RoundTripsEveryValue) {
  std::set<std::string> seen;
  for (const FormatInfo& info : formats()) {
    for (const Fill fill : all_fills) {
      for (const Planes planes : {Planes::x8, Planes::x16, Planes::x24}) {
        for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
          Case problem{info.format, 3,    2 * super_block, 5,  planes, Layout::raw,
                       "scalar",    fill, UINT64_MAX,      "", dtype,  dtype};
          const auto back = parse_case(to_string(problem));
          ASSERT_TRUE(back) << back.error().message;
          EXPECT_EQ(*back, problem);
          EXPECT_TRUE(seen.insert(to_string(problem)).second);
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), formats().size() * all_fills.size() * 9);
}

TEST(ProblemString, SaysHowADeviceLaunches) {
  const std::string text =
      "gemv:q4_K:512x96:tokens=9:act=x16:layout=frag:fill=gauss:seed=1:tile=2/1/0/4:overlapped=yes:group=64/32:"
      "experts=4";
  const auto parsed = parse_case(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->tile, (std::array<std::uint32_t, 4>{2, 1, 0, 4}));
  EXPECT_TRUE(parsed->overlapped);
  EXPECT_EQ(parsed->group, (std::vector<std::uint64_t>{64, 32}));
  EXPECT_EQ(parsed->experts, 4U);
  EXPECT_TRUE(parsed->is_together() && parsed->says_how_to_launch());
  EXPECT_EQ(to_string(*parsed), text);
  const auto apart = parse_case("gemv:q4_K:512x96:apart=1000:tile=3:overlapped=no");
  ASSERT_TRUE(apart) << apart.error().message;
  EXPECT_EQ(apart->apart, 1000U);
  EXPECT_EQ(apart->tile, (std::array<std::uint32_t, 4>{3, 0, 0, 0}));
  EXPECT_FALSE(apart->overlapped || apart->is_together());
  EXPECT_EQ(parse_case("gemv:q4_K:512x4:group=1/0/3")->group.size(), 3U);

  for (const auto& [keys, said] :
       {std::pair("tile=1/2/3/4/5", "four numbers"), std::pair("tile=4294967296", "2^32"), std::pair("tile=1/", "tile"),
        std::pair("overlapped=1", "yes or no"), std::pair("group=64/31", "95 rows"), std::pair("group=", "group"),
        std::pair("experts=5", "5 experts"), std::pair("group=90/6:experts=4", "don't divide 90"),
        std::pair("group=32/32/32:experts=4", "lists"), std::pair("group=12/12/12/12/12/12/12/11/1", "8 matrices"),
        std::pair("group=18446744073709551615/97", "64 bits"), std::pair("apart=9:experts=4", "apart="),
        std::pair("apart=18446744073709551615", "64 bits"), std::pair("group=96:group=96", "twice")}) {
    EXPECT_NE(refusal(std::string("gemv:q4_K:512x96:") + keys).find(said), std::string::npos)
        << keys << ": " << refusal(std::string("gemv:q4_K:512x96:") + keys);
  }
}

TEST(ProblemString, CarriesAnyTensorName) {
  std::string every;
  for (int byte = 1; byte < 256; ++byte) every.push_back(static_cast<char>(byte));
  for (const std::string& name :
       {std::string("blk.0.attn_q.weight"), std::string("ffn_exps[3]"), std::string("a:b%c=d"), every}) {
    Case problem;
    problem.tensor = name;
    const auto back = parse_case(to_string(problem));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->tensor, name);
  }
}

TEST(ProblemString, MissingKeysTakeDefaultsAndFormatsAnyCase) {
  const auto parsed = parse_case("gemv:Q6_k:512x3");
  ASSERT_TRUE(parsed) << parsed.error().message;
  Case expected;
  expected.format = Format::Q6_K;
  expected.cols = 512;
  expected.rows = 3;
  EXPECT_EQ(*parsed, expected);
}

TEST(ProblemString, RefusalsSayWhatIsAllowed) {
  EXPECT_NE(refusal("").find("gemv"), std::string::npos);
  EXPECT_NE(refusal("gemm:q4_K:256x1").find("gemv"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K").find("4096x14336"), std::string::npos);
  EXPECT_NE(refusal("gemv:q9_Z:256x1").find("iq2_xxs"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K:256").find("K x rows"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K:256x1x1").find("K x rows"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K:256x1:lanes=4").find("tokens, act, layout, kernel, fill, seed"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K:256x1:seed").find("key=value"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K:256x1:").find("key=value"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K:256x1:seed=1:seed=1").find("twice"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K:256x1:fill=nice").find("gauss, random, exact"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K:256x1:act=x12").find("x16"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K:256x1:layout=tiled").find("raw"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K:256x1:x=f64").find("bf16"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K:256x1:kernel=").find("leave the key out"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K:256x1:tensor=a%4").find("hexadecimal"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K:256x1:tensor=a%zz").find("hexadecimal"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K:255x1").find("256"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K:256x0").find("1 or more"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K:0x1").find("1 or more"), std::string::npos);
  for (const char* number : {"-1", "+1", " 1", "1 ", "1e3", "0x10", "", "18446744073709551616"}) {
    EXPECT_NE(refusal(std::string("gemv:q4_K:256x1:tokens=") + number).find("decimal number"), std::string::npos)
        << number;
  }
  EXPECT_NE(refusal("gemv:q4_K:18446744073709551360x1").find("64 bits"), std::string::npos);
  EXPECT_NE(refusal("gemv:q4_K:256x18446744073709551615").find("64 bits"), std::string::npos);
  EXPECT_NE(refusal("gemv:f32:4294967296x1:tokens=4294967296").find("64 bits"), std::string::npos);
}

TEST(Grid, EnumeratesWhatIsLegalAndCountsTheRest) {
  CaseGrid grid;
  for (const FormatInfo& info : formats()) grid.formats.push_back(info.format);
  grid.shapes = {{1, 32}, {3, 64}, {2, 128}, {5, 256}};
  grid.tokens = {1, 2};
  grid.planes = {Planes::x8, Planes::x16};
  const Enumeration found = enumerate(grid);
  std::uint64_t legal = 0;
  for (const FormatInfo& info : formats()) {
    for (const Shape& shape : grid.shapes) legal += shape.cols % info.block_elements == 0 ? 1 : 0;
  }
  EXPECT_EQ(found.cases.size(), legal * 4);
  EXPECT_EQ(found.cases.size() + found.left_out, formats().size() * 4 * 4);
  std::set<std::uint64_t> seeds;
  for (const Case& problem : found.cases) {
    EXPECT_TRUE(check_case(problem));
    seeds.insert(problem.seed);
  }
  EXPECT_EQ(seeds.size(), found.cases.size());
}

TEST(Grid, StandardCasesAreLegalAndCoverEveryShapeClass) {
  for (const FormatInfo& info : formats()) {
    std::set<std::uint64_t> cols;
    std::set<Fill> fills;
    const auto cases = standard_cases({info.format}, {1, 2, 4, 8}, {Planes::x8, Planes::x16, Planes::x24});
    for (const Case& problem : cases) {
      ASSERT_TRUE(check_case(problem)) << to_string(problem);
      cols.insert(problem.cols);
      fills.insert(problem.fill);
    }
    EXPECT_EQ(cols.size(), 5U) << info.name;
    EXPECT_EQ(fills.size(), all_fills.size());
  }
}

}  // namespace
}  // namespace lanewise
