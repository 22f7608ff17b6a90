// `lanewise compare` from the outside; tests/program/check_compare.py compares its figures with NumPy's.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "compare_report.h"
#include "npy.h"
#include "program/process.h"

namespace lanewise::program_test {
namespace {

using Json = nlohmann::json;

class Compare : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run({"synth", "-o", model_}).code, ok);
    ASSERT_EQ(run({"synth", "-o", other_, "--seed", "2"}).code, ok);
  }
  static void expect_failure(const std::vector<std::string>& words, int code, const std::string& says) {
    const Finished result = run(words);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_TRUE(result.err.starts_with("lanewise: ")) << result.err;
    EXPECT_NE(result.err.find(says), std::string::npos) << result.err;
  }

  Directory directory_;
  std::string model_ = directory_.file("model.gguf");
  std::string other_ = directory_.file("other.gguf");
};

TEST_F(Compare, AFileIsItself) {
  const Finished result = run({"compare", model_, model_, "--no-time", "--json", "-"});
  ASSERT_EQ(result.code, ok) << result.err;
  const Json document = Json::parse(result.out);
  EXPECT_EQ(document["kind"], "compare");
  ASSERT_EQ(document["files"].size(), 1U);
  const Json& file = document["files"][0];
  EXPECT_EQ(file["weight_error"], 0);
  EXPECT_EQ(file["output_error"], file["arithmetic_error"]);
  EXPECT_EQ(file["bytes"], document["reference"]["bytes"]);
  for (const char* list : {"only_in_reference", "only_here", "other_shape", "not_weights"})
    EXPECT_TRUE(file[list].empty());
  // Every matrix of every format, experts one by one; x16 leaves about 1e-5.
  EXPECT_GT(file["matrices"].size(), 60U);
  int vectors = 0;
  for (const Json& matrix : file["matrices"]) {
    EXPECT_EQ(matrix["weights"]["relative_rms"], 0) << matrix;
    EXPECT_EQ(matrix["weights"]["snr_db"], nullptr) << matrix;
    if (matrix.contains("outputs")) {
      EXPECT_LT(matrix["outputs"]["relative_rms"], 1e-3) << matrix;
    } else {
      ++vectors;
    }
  }
  EXPECT_EQ(vectors, 2);  // a norm and NVFP4's scale
}

// Two files of independent weights are apart by sqrt(2).
TEST_F(Compare, StrangersAreFarApart) {
  const Finished result = run({"compare", model_, other_, "--no-time", "--json", "-"});
  ASSERT_EQ(result.code, ok) << result.err;
  const Json file = Json::parse(result.out)["files"][0];
  EXPECT_NEAR(file["weight_error"], 1.414, 0.02);
  EXPECT_NEAR(file["output_error"], 1.41, 0.1);
}

TEST_F(Compare, SaysTimesAndFits) {
  const Finished result = run({"compare", model_, other_, "--tensor", "^q[45]_K", "--rounds", "1", "--bytes", "100000",
                               "--window", "2", "--threads", "1", "--tensors"});
  ASSERT_EQ(result.code, ok) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out.find("us n=1"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("us n=2"), std::string::npos);
  EXPECT_NE(result.out.find("note: times are cold: copies of a matrix"), std::string::npos);
  int rows = 0;
  for (std::size_t at = 0; at < result.out.size();) {
    const std::size_t end = result.out.find('\n', at);
    const std::string line = result.out.substr(at, end - at);
    EXPECT_TRUE(line.starts_with("note:") || line.size() <= 120) << line;
    rows += line.starts_with("q4_K") || line.starts_with("q5_K") ? 1 : 0;
    at = end + 1;
  }
  EXPECT_EQ(rows, 4) << result.out;
}

TEST_F(Compare, RefusesWhatItCantCompare) {
  expect_failure({"compare", model_}, usage, "FILES");
  expect_failure({"compare", model_, directory_.file("gone.gguf")}, input, "gone.gguf");
  expect_failure({"compare", model_, other_, "--tensor", "no such"}, input, "has no tensor of a name and shape of");
  expect_failure({"compare", model_, other_, "--no-time", "--window", "3"}, usage, "--window");
  expect_failure({"compare", model_, other_, "--json", other_}, usage, "");
  const std::string x = directory_.file("x.npy");
  expect_failure({"compare", model_, other_, "-x", model_}, input, "model.gguf");
  std::string bytes(2 * 256 * 4, '\0');
  bytes[4 * 300 + 2] = '\x80';  // infinity
  bytes[4 * 300 + 3] = '\x7F';
  const std::string header = program::npy_header(std::vector<std::uint64_t>{2, 256});
  write_file(x, header + bytes);
  expect_failure({"compare", model_, other_, "-x", x}, input,
                 "not finite (LW_ERROR_ARGUMENT, byte " + std::to_string(header.size() + 4 * 300) + ")");
  write_file(x, header + std::string(2 * 256 * 4, '\x3C'));
  expect_failure({"compare", model_, other_, "-x", x, "-x", x}, input, "K = 256 is given by another file too");
  // Two tokens for the matrices of that K, Gaussian ones for the others, and the text says so.
  const Finished mixed = run({"compare", model_, other_, "-x", x, "--no-time"});
  ASSERT_EQ(mixed.code, ok) << mixed.err;
  EXPECT_NE(mixed.out.find("matrices, Gaussian, 8 tokens, seed 1 for "), std::string::npos) << mixed.out;
  write_file(x, program::npy_header(std::vector<std::uint64_t>{1, 7}) + std::string(7 * 4, '\0'));
  const Finished unused = run({"compare", model_, other_, "-x", x, "--no-time"});
  ASSERT_EQ(unused.code, ok) << unused.err;
  EXPECT_NE(unused.out.find("no matrix has K = 7: that x was not used"), std::string::npos) << unused.out;
}

TEST(CompareNames, KindsLeaveNumbersOut) {
  EXPECT_EQ(program::kind_of_name("blk.12.attn_q.weight"), "blk.*.attn_q.weight");
  EXPECT_EQ(program::kind_of_name("blk.3.ffn_up_exps.weight[17]"), "blk.*.ffn_up_exps.weight[*]");
  EXPECT_EQ(program::kind_of_name("q4_0.short"), "q4_0.short");
  EXPECT_EQ(program::kind_of_name("v.2x.7"), "v.2x.*");
}

TEST(CompareErrors, AreThoseOfTheirDefinition) {
  program::ValueErrors errors;
  errors.take(3, 4);
  errors.take(-1, -2);
  errors.take(1, std::numeric_limits<double>::infinity());
  EXPECT_EQ(errors.values, 2U);
  EXPECT_EQ(errors.not_finite, 1U);
  EXPECT_DOUBLE_EQ(*errors.relative_rms(), std::sqrt(2.0 / 20));
  EXPECT_DOUBLE_EQ(*errors.worst_over_rms(), 1 / std::sqrt(10.0));
  EXPECT_DOUBLE_EQ(*errors.cosine(), 14 / std::sqrt(10.0 * 20));
  program::ValueErrors zero;
  EXPECT_FALSE(zero.relative_rms());
  zero.take(0, 0);
  EXPECT_EQ(zero.relative_rms(), 0.0);
  zero.take(1, 0);
  EXPECT_FALSE(zero.relative_rms());
}

}  // namespace
}  // namespace lanewise::program_test
