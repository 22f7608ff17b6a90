// What verify says of a wrong bit, with a fault planted in the kernel's place: there is no such kernel to be had by the
// command line.
#include "verify_report.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "arithmetic/scalar.h"

namespace lanewise::program {
namespace {

Verdict with_launch(const Launch& launch) {
  const auto problem = parse_case("gemv:q5_0:512x9:tokens=2");
  EXPECT_TRUE(problem.ok());
  VerifyOptions options;
  options.threads = 1;
  options.replacement = launch;
  return verify_case(*problem, options);
}

Verdict sound() { return with_launch(gemv_scalar); }

Verdict one_wrong_bit() {
  return with_launch(
      [](const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t begin, std::uint64_t end) {
        gemv_scalar(w, x, y, begin, end);
        if (begin > 7 || end <= 7) return;
        auto* value = static_cast<std::uint8_t*>(y.data) + (1 * y.stride + 7) * sizeof(float);
        *value = static_cast<std::uint8_t>(*value ^ 1u);
      });
}

TEST(VerifyReport, CountsHowCasesWereLaunched) {
  Output out;
  VerifyReport report(out, false, true);
  Verdict verdict = sound();
  report.add("q5_0", verdict, true);
  verdict.launched.tiled = true;
  verdict.launched.overlapped = true;
  verdict.repeated.compared = 24;
  report.add("q5_0", verdict, true);
  verdict.repeated.compared = 0;
  verdict.launched = {};
  verdict.launched.group = true;
  report.add("q5_0", verdict, true);
  verdict.launched.experts = true;
  report.add("q5_0", verdict, true);
  verdict.launched = {};
  verdict.launched.apart = true;
  report.add("q5_0", verdict, true);
  const auto json = nlohmann::json::parse(report.json(1).dump());
  const nlohmann::json counts{{"tiled", 1},   {"overlapped", 1}, {"groups", 1},
                              {"experts", 1}, {"offsets", 1},    {"values_repeated", 24}};
  EXPECT_EQ(json["total"]["launches"], counts);
  EXPECT_EQ(json["formats"]["q5_0"]["launches"], counts);
  EXPECT_EQ(json["verdicts"][1]["repeated"]["compared"], 24);
  EXPECT_FALSE(json["verdicts"][0].contains("repeated"));
  EXPECT_EQ(report.exit(true).code(), exit_ok);

  // What only a device can do wrong.
  verdict.bad_ids_taken = true;
  report.add("q5_0", verdict, true);
  EXPECT_EQ(report.exit(false).code(), exit_wrong);
}

TEST(VerifyReport, AWrongBitIsAFailureThatSaysWhere) {
  Output out;
  VerifyReport report(out, false, true);
  report.add("q5_0", sound(), true);
  EXPECT_EQ(report.exit(true).code(), exit_ok);
  report.add("q5_0", one_wrong_bit(), true);
  report.row("synthetic", "q5_0");
  const Exit exit = report.exit(false);
  EXPECT_EQ(exit.code(), exit_wrong);
  ASSERT_NE(exit.fault(), nullptr);
  const std::string line = error_line(exit.fault()->error);
  for (const char* says : {"gemv:q5_0:512x9", "row 7", "token 1", "0x"}) {
    EXPECT_NE(line.find(says), std::string::npos) << says << " in: " << line;
  }
  EXPECT_EQ(report.total().cases, 2u);
  EXPECT_EQ(report.total().failed, 1u);
  EXPECT_EQ(report.total().differing, 1u);
  const auto json = nlohmann::json::parse(report.json(1).dump());
  EXPECT_EQ(json["verdicts"][1]["verdict"], "failed");
  EXPECT_EQ(json["verdicts"][1]["outputs"]["first"]["row"], 7);
  EXPECT_EQ(json["verdicts"][1]["outputs"]["first"]["token"], 1);
  EXPECT_EQ(json["verdicts"][1]["outputs"]["differing_bits"], 1);
}

TEST(VerifyReport, AMistrustedCaseFailsWhereItWasMadeToProveSomething) {
  Verdict verdict = sound();
  verdict.mistrusted = "most outputs are zero";
  Output out;
  VerifyReport report(out, false, false);
  report.add("q5_0", verdict, true);
  EXPECT_EQ(report.exit(false).code(), exit_ok);
  EXPECT_EQ(report.exit(true).code(), exit_wrong);
}

TEST(VerifyReport, ACaseThatCouldNotRunIsNoWrongBit) {
  Verdict verdict;
  verdict.problem = "gemv:q5_0:512x9";
  verdict.error = make_error(LW_ERROR_NOT_FOUND, "no kernel");
  Output out;
  VerifyReport report(out, false, false);
  report.add("q5_0", verdict, true);
  EXPECT_EQ(report.exit(false).code(), exit_unsupported);
}

}  // namespace
}  // namespace lanewise::program
