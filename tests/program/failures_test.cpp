// What goes wrong: the exit code, one line on stderr with what to do, and nothing half-written left.
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "npy.h"
#include "program/process.h"

namespace lanewise::program_test {
namespace {

enum : int { ok = 0, usage = 2, input = 3, unsupported = 4, io = 5 };

class Failures : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run({"synth", "-o", model_}).code, 0);
    write_file(x_, program::npy_header(std::vector<std::uint64_t>{2, 640}) + std::string(2 * 640 * 4, '\0'));
  }

  // One line that starts with the program's name, ends with a code in parentheses and says this.
  static void expect(const std::vector<std::string>& arguments, int code, const std::string& says,
                     const Start& start = {}) {
    std::string command;
    for (const std::string& word : arguments) command += " " + word;
    const Finished result = run(arguments, start);
    EXPECT_EQ(result.code, code) << command << ": " << result.err;
    EXPECT_TRUE(result.err.starts_with("lanewise: ")) << command << ": " << result.err;
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << command << ": " << result.err;
    EXPECT_TRUE(result.err.ends_with(")\n")) << command << ": " << result.err;
    EXPECT_NE(result.err.find("(LW_ERROR_"), std::string::npos) << command << ": " << result.err;
    EXPECT_NE(result.err.find(says), std::string::npos) << command << ": " << result.err;
  }
  std::vector<std::string> gemv(const std::string& x, std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"gemv", model_, "blk.0.attn_q.weight", "-x", x, "-o", y_};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  Directory directory_;
  std::string model_ = directory_.file("model.gguf");
  std::string x_ = directory_.file("x.npy");
  std::string y_ = directory_.file("y.npy");
};

TEST_F(Failures, Usage) {
  expect({}, usage, "--help");
  expect({"inof"}, usage, "there is no command 'inof'");
  expect({"info"}, usage, "'lanewise info --help'");
  expect({"info", model_, "--nosuch"}, usage, "--nosuch");
  expect(gemv(x_, {"--activation", "x32"}), usage, "x8,x16,x24");
  expect(gemv(x_, {"--threads", "-1"}), usage, "--threads");
  expect({"verify", "--format", "q9_9"}, usage, "there are f32");
  expect({"verify", "--layout", "sideways"}, usage, "raw");
  expect({"verify", "--fill", "sand", model_}, usage, "gauss");
  expect({"verify", "--tokens", "0"}, usage, "--tokens takes 1 to");
  expect({"verify", model_, "--tensor", "("}, usage, "regular expression");
  expect({"verify", model_, model_ + "2"}, usage, "two models");
  expect({"completions", "tcsh"}, usage, "bash");
}

TEST_F(Failures, ProblemStrings) {
  for (const char* problem :
       {"gemv:", "gemv:q4_K", "gemv:q4_K:33x3", "gemv:q9:256x3", "gemv:q4_K:256x3:nosuch=1", "gemv:q4_K:256x3:tokens=x",
        "gemv:q4_K:256x3:seed=1:seed=2", "gemv:q4_K:99999999999999999999x3"}) {
    expect({"verify", problem}, usage, "");
    expect({"trace", problem, "--row", "0", "--token", "0"}, usage, "");
  }
  expect({"trace", "gemv:q4_K:256x3", "--row", "3", "--token", "0"}, usage, "rows 0 to 2");
  expect({"trace", "gemv:q4_K:256x3", "--row", "0", "--token", "1"}, usage, "tokens 0 to 0");
  expect({"verify", "gemv:q4_K:256x3:tensor=a"}, usage, "model");
  expect({"trace", "gemv:q4_K:256x3:tensor=a", "--row", "0", "--token", "0"}, usage, "--model");
  expect({"verify", model_, "gemv:q8_0:640x65:tensor=blk.0.attn_q.weight"}, usage, "is q5_0:640x65");
}

TEST_F(Failures, Files) {
  const std::string missing = directory_.file("missing.gguf");
  const std::string hostile = directory_.file("hostile.gguf");
  for (const char* command : {"info", "digest", "verify"}) {
    expect({command, missing}, input, "missing.gguf");
    write_file(hostile, "");
    expect({command, hostile}, input, "hostile.gguf");
    write_file(hostile, "GGML, not GGUF, but long enough to hold a header of one");
    expect({command, hostile}, input, "byte 0)");
    write_file(hostile, read_file(model_).substr(0, 1000));
    expect({command, hostile}, input, "LW_ERROR_FILE_TRUNCATED, byte ");
    expect({command, "/"}, io, "directory");
  }
}

TEST_F(Failures, Tensors) {
  expect({"dequant", model_, "blk.0.attn_w.weight", "-o", y_}, input, "'blk.0.attn_q.weight'");
  expect({"dequant", model_, "experts.q4_K.weight", "-o", y_}, usage, "'experts.q4_K.weight[0]'");
  expect({"dequant", model_, "experts.q4_K.weight[4]", "-o", y_}, input, "[0] to [3]");
  expect({"verify", model_, "--tensor", "nosuch"}, input, "--tensor");
  EXPECT_EQ(directory_.entries(), (std::vector<std::string>{"model.gguf", "x.npy"}));
}

TEST_F(Failures, Inputs) {
  const std::string bad = directory_.file("bad.npy");
  const auto with = [&](const std::string& dict, std::size_t bytes) {
    std::string header = std::string("\x93NUMPY\x01") + '\0' + static_cast<char>(dict.size()) + '\0' + dict;
    write_file(bad, header + std::string(bytes, '\0'));
  };
  expect(gemv(directory_.file("none.npy")), input, "none.npy");
  expect(gemv(model_), input, "no .npy file");
  with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 641), }", 2 * 641 * 4);
  expect(gemv(bad), input, "K = 640: give [tokens, 640]");
  with("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 640), }", 640 * 4);
  expect(gemv(bad), input, "(1, 1, 640)");
  with("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 640), }", 2 * 640 * 4);
  expect(gemv(bad), input, "Fortran order");
  with("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 640), }", 2 * 640 * 4);
  expect(gemv(bad), input, "big-endian");
  with("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 640), }", 2 * 640 * 8);
  expect(gemv(bad), input, "astype(numpy.float32)");
  with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 640), }", 2 * 640 * 4 - 1);
  expect(gemv(bad), input, "cut short");
  EXPECT_EQ(directory_.entries(), (std::vector<std::string>{"bad.npy", "model.gguf", "x.npy"}));
}

TEST_F(Failures, DevicesKernelsAndInstructionSets) {
  expect(gemv(x_, {"--device", "abacus"}), unsupported, "this build has: cpu");
  for (const char* name : {"cuda", "vulkan", "metal"}) {
    expect(gemv(x_, {"--device", name}), unsupported, "not in this build");
    expect({"verify", "--device", name}, unsupported, "not in this build");
    expect({"digest", model_, "--device", name}, unsupported, "not in this build");
  }
  expect(gemv(x_, {"--kernel", "nosuch"}), unsupported, "nosuch");
  expect({"verify", model_, "--kernel", "nosuch"}, unsupported, "nosuch");
  expect({"trace", "gemv:q4_K:256x3", "--row", "0", "--token", "0", "--kernel", "nosuch"}, unsupported, "nosuch");
  const Start other_isa{{{"LANEWISE_ISA", "abacus"}}, "", false};
  for (const auto& words : {gemv(x_), {"verify"}, {"digest", model_}, {"devices"}}) {
    expect(words, unsupported, "this processor has: scalar", other_isa);
  }
  EXPECT_EQ(directory_.entries(), (std::vector<std::string>{"model.gguf", "x.npy"}));
}

TEST_F(Failures, FullDisksAndClosedPipes) {
  const Start full{{}, "/dev/full", false};
  const Start closed{{}, "", true};
  for (const auto& words : std::vector<std::vector<std::string>>{{"info", model_},
                                                                 {"info", model_, "--json", "-"},
                                                                 {"digest", model_},
                                                                 {"devices"},
                                                                 {"--help"},
                                                                 {"--version"},
                                                                 {"completions", "bash"},
                                                                 {"synth", "-o", "-"},
                                                                 {"dequant", model_, "q4_K.weight", "-o", "-"},
                                                                 {"verify", model_, "--format", "q4_0"}}) {
    expect(words, io, "No space left", full);
    expect(words, io, "Broken pipe", closed);
  }
  expect({"dequant", model_, "q4_K.weight", "-o", "/dev/full"}, io, "'/dev/full'");
  expect({"synth", "-o", "/dev/full"}, io, "'/dev/full'");
  expect({"info", model_, "--json", "/dev/full"}, io, "'/dev/full'");
  expect({"gemv", model_, "blk.0.attn_q.weight", "-x", x_, "-o", "/dev/full"}, io, "'/dev/full'");
  expect({"synth", "-o", directory_.file("none/model.gguf")}, io, "No such file");
}

TEST_F(Failures, InputsAreNotReplaced) {
  const std::string before = read_file(model_);
  expect({"dequant", model_, "q4_K.weight", "-o", model_}, usage, "is an input");
  expect({"gemv", model_, "blk.0.attn_q.weight", "-x", x_, "-o", x_}, usage, "is an input");
  EXPECT_EQ(read_file(model_), before);
  // A file that is there stays whole when the command fails.
  write_file(y_, "mine");
  expect(gemv(x_, {"--kernel", "nosuch"}), unsupported, "nosuch");
  EXPECT_EQ(read_file(y_), "mine");
}

}  // namespace
}  // namespace lanewise::program_test
