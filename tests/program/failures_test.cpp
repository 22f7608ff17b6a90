// What goes wrong: the exit code, one line on stderr with what to do, and nothing half-written left.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gguf/writer.h"
#include "kernels/devices.h"
#include "npy.h"
#include "program/process.h"

namespace lanewise::program_test {
namespace {

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
    return gemv(x, std::move(more), y_);
  }
  // `y` empty: `more` says where y goes.
  std::vector<std::string> gemv(const std::string& x, std::vector<std::string> more, const std::string& y) const {
    std::vector<std::string> words{"gemv", model_, "blk.0.attn_q.weight", "-x", x};
    if (!y.empty()) words.insert(words.end(), {"-o", y});
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
  expect({"verify", "--activation", "x9"}, usage, "x9");
  expect({"verify", "--layout", "sideways"}, usage, "raw");
  expect({"verify", "--fill", "sand", model_}, usage, "gauss");
  expect({"verify", "--tokens", "0"}, usage, "from 1 to 4096");
  expect({"verify", model_, "--tensor", "("}, usage, "regular expression");
  expect({"verify", model_, "--tensor", "a{1,255}{1,255}{1,255}"}, usage, "repeat too much");
  expect({"verify", model_, model_ + "2"}, usage, "two models");
  expect({"completions", "tcsh"}, usage, "bash");
  expect({"--nosuch"}, usage, "there is no option '--nosuch'");
}

// An unset variable of a script is no request for a default: the command would do something else than was meant.
TEST_F(Failures, EmptyValues) {
  expect({"verify", ""}, usage, "empty");
  expect({"info", ""}, usage, "empty");
  expect({"bench", "--pack", ""}, usage, "empty");
  expect({"bench", "--model", ""}, usage, "empty");
  expect({"verify", model_, "--tensor", ""}, usage, "empty");
  expect({"verify", "--kernel", ""}, usage, "empty");
  expect({"verify", "--seed", ""}, usage, "empty");
  expect({"verify", "--tokens", ""}, usage, "empty");
  expect({"verify", "--tokens", "1,,2"}, usage, "empty");
  expect({"verify", "--format", "q4_K,"}, usage, "empty");
  expect({"digest", model_, "--json", ""}, usage, "empty");
  expect({"synth", "-o", ""}, usage, "empty");
  // The next word would be taken for the value, and written over.
  const std::string before = read_file(model_);
  expect({"verify", "--json=", model_}, usage, "empty");
  EXPECT_EQ(read_file(model_), before);
}

TEST_F(Failures, Numbers) {
  for (const char* number : {"-1", "18446744073709551616", " 1", "1 ", "+1", "1e3", "0x10", "1.5"}) {
    expect({"verify", "--seed", number}, usage, "--seed: a whole number");
    expect({"verify", "--tokens", number}, usage, "--tokens: a whole number from 1 to 4096");
    expect(gemv(x_, {"--threads", number}), usage, "--threads: a whole number from 0 to 1024");
    expect({"trace", "gemv:q4_K:256x3", "--row", number, "--token", "0"}, usage, "--row: a whole number");
  }
  // Decimal, whatever it begins with.
  const std::string octal = directory_.file("octal.gguf");
  EXPECT_NE(run({"synth", "-o", octal, "--seed", "010"}).out.find("seed 10\n"), std::string::npos);
}

// What would be ignored is refused.
TEST_F(Failures, OptionsWithoutMeaning) {
  const std::string problem = "gemv:q4_K:256x3";
  const std::vector<std::vector<std::string>> said_by_problems{
      {"--tokens", "2"}, {"--activation", "x8"}, {"--seed", "2"}, {"--layout", "rows16"}, {"--format", "q4_0"}};
  for (const auto& option : said_by_problems) {
    expect({"verify", problem, option[0], option[1]}, usage, "leave " + option[0] + " out");
  }
  expect({"verify", model_, problem}, usage, "leave the model out");
  expect({"verify", "--tensor", "attn"}, usage, "leave --tensor out");
  expect({"verify", "--fill", "wide"}, usage, "leave --fill out");
  for (const std::vector<std::string>& option : std::vector<std::vector<std::string>>{
           {"--tokens", "2"}, {"--hot"}, {"--activation", "x8"}, {"--kernel", "scalar"}, {"--bytes", "9"}}) {
    std::vector<std::string> words{"bench", "--pack", model_};
    words.insert(words.end(), option.begin(), option.end());
    expect(words, usage, "leave " + option[0] + " out");
  }
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
  expect({"dequant", model_, "experts.q4_K.weight[4]", "-o", y_}, input, "no matrix [4]: it holds 4, [0] to [3]");
  expect({"dequant", model_, "experts.q4_K.weight[18446744073709551616]", "-o", y_}, input, "[18446744073709551616]");
  expect({"dequant", model_, "q4_K.weight[1]", "-o", y_}, input, "a single one, [0]");
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
  expect(gemv(x_, {"--device", "abacus"}), unsupported, "this machine and build have: cpu");
  expect(gemv(x_, {"--device", "metal"}), unsupported, "not in this build");
  expect({"verify", "--device", "metal"}, unsupported, "not in this build");
  expect({"digest", model_, "--device", "metal"}, unsupported, "not in this build");
  // Where a backend has no device, whatever computes says so, and why.
  for (const GpuBackend& backend : gpu_backends()) {
    const auto found = backend.list();
    if (found) continue;
    for (const std::string& each : {std::string(backend.name), std::string(backend.name) + ":7"}) {
      const char* const name = each.c_str();
      const std::string& why = found.error().message;
      expect(gemv(x_, {"--device", name}), unsupported, why);
      expect({"verify", "--device", name}, unsupported, why);
      expect({"digest", model_, "--device", name}, unsupported, why);
      expect({"dequant", model_, "blk.0.w", "-o", "never.npy", "--device", name}, unsupported, why);
    }
  }
  for (const char* name : {"cuda:", "cuda:-1", "cuda:x", "cuda:1x", "cuda0", "CUDA:0", "cuda:4294967296"}) {
    expect(gemv(x_, {"--device", name}), unsupported, "there is no device");
  }
  expect(gemv(x_, {"--kernel", "nosuch"}), unsupported, "nosuch");
  expect({"verify", model_, "--kernel", "nosuch"}, unsupported, "nosuch");
  expect({"digest", model_, "--kernel", "nosuch"}, unsupported, "nosuch");
  // There is one, but not for every format of the file.
  expect({"digest", model_, "--kernel", "cpu.gemv.q4_0.raw.x16.scalar"}, unsupported, "q4_0.raw");
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
  const std::string x_before = read_file(x_);
  const std::string link = directory_.file("link");
  const std::string hard = directory_.file("hard");
  std::filesystem::create_symlink("model.gguf", link);
  std::filesystem::create_hard_link(model_, hard);
  const std::string of_tensor = "gemv:q5_0:640x65:tensor=blk.0.attn_q.weight";
  for (const std::string& output : {model_, link, hard, directory_.file("./model.gguf")}) {
    expect({"dequant", model_, "q4_K.weight", "-o", output}, usage, "is an input");
    expect(gemv(x_, {"-o", output}, ""), usage, "is an input");
    expect({"info", model_, "--json", output}, usage, "is an input");
    expect({"digest", model_, "--json", output}, usage, "is an input");
    expect({"verify", model_, "--json", output}, usage, "is an input");
    expect({"verify", model_, of_tensor, "--json", output}, usage, "is an input");
    expect({"trace", of_tensor, "--model", model_, "--row", "0", "--token", "0", "--json", output}, usage, "an input");
    expect({"bench", "--model", model_, "--json", output}, usage, "is an input");
    expect({"bench", "--pack", model_, "--json", output}, usage, "is an input");
    EXPECT_EQ(read_file(model_), before);
  }
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  expect(gemv(x_, {"-o", x_}, ""), usage, "is an input");
  EXPECT_EQ(read_file(x_), x_before);
  // A file that is there stays whole when the command fails.
  write_file(y_, "mine");
  expect(gemv(x_, {"--kernel", "nosuch"}), unsupported, "nosuch");
  EXPECT_EQ(read_file(y_), "mine");
}

// Any shard of a split model is an input.
TEST_F(Failures, ShardsAreNotReplaced) {
  gguf::WriterOptions options;
  options.tensors_per_shard = 1;
  gguf::Writer writer(options);
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(writer.add_tensor(name, 0, std::vector<std::uint64_t>{8, 4}).ok());
  }
  ASSERT_TRUE(writer.begin(directory_.file("m.gguf")).ok());
  const std::vector<std::uint8_t> data(8 * 4 * 4, 1);
  ASSERT_TRUE(writer.append(data).ok() && writer.append(data).ok() && writer.finish().ok());
  const std::string first = directory_.file("m-00001-of-00002.gguf");
  const std::string second = directory_.file("m-00002-of-00002.gguf");
  const std::string before = read_file(second);
  expect({"dequant", first, "a", "-o", second}, usage, "is an input");
  expect({"info", first, "--json", second}, usage, "is an input");
  EXPECT_EQ(read_file(second), before);
}

// Known before the work is done, not after it.
TEST_F(Failures, OutputsAreLookedAtFirst) {
  const std::string nowhere = directory_.file("none/v.json");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"verify", model_}, {"digest", model_}, {"bench", "--model", model_}, {"bench", "--pack", model_}}) {
    std::vector<std::string> with = words;
    with.insert(with.end(), {"--json", nowhere});
    expect(with, io, "No such file");
    EXPECT_EQ(run(with).out, "");
  }
  // A link to a file that isn't there yet stays a link.
  const std::string link = directory_.file("link");
  std::filesystem::create_symlink("target.npy", link);
  EXPECT_EQ(run(gemv(x_, {"-o", link}, "")).code, ok);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_regular_file(directory_.file("target.npy")));
  if (::geteuid() != 0) {  // root may write what is protected
    write_file(y_, "mine");
    std::filesystem::permissions(y_, std::filesystem::perms::owner_read);
    expect(gemv(x_), io, "Permission denied");
    EXPECT_EQ(read_file(y_), "mine");
  }
}

TEST_F(Failures, SignalsLeaveNothingBehind) {
  const std::string json = directory_.file("v.json");
  // A single matrix that nobody waits for: stopped before any verdict.
  const std::string big = directory_.file("big.gguf");
  gguf::Writer writer;
  ASSERT_TRUE(writer.add_tensor("w", 0, std::vector<std::uint64_t>{1024, 1024}).ok());
  ASSERT_TRUE(writer.begin(big).ok());
  ASSERT_TRUE(writer.append(std::vector<std::uint8_t>(4 << 20)).ok() && writer.finish().ok());
  const std::vector<std::vector<std::string>> long_work{
      {"verify", "gemv:q4_K:65536x65536:tokens=8"},
      {"verify", big, "--tokens", "4096"},
      {"trace", "gemv:q4_K:65536x65536", "--row", "65535", "--token", "0"},
      {"bench", "--pack", model_, "--rounds", "1000", "--json", json},
      {"bench", "--format", "q4_K", "--shape", "512x64", "--rounds", "1000", "--bytes", "99999999", "--json", json}};
  for (const auto& words : long_work) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      Start start;
      start.signal = signal;
      const Finished result = run(words, start);
      EXPECT_EQ(result.code, 130) << words[0] << ": " << result.err;
      EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
    }
  }
  EXPECT_EQ(directory_.entries(), (std::vector<std::string>{"big.gguf", "model.gguf", "x.npy"}));
}

// As under nohup: what the caller had ignored stays ignored.
TEST_F(Failures, IgnoredSignalsStayIgnored) {
  Start start;
  start.signal = SIGHUP;
  start.ignore_signal = true;
  EXPECT_EQ(run({"verify", "--format", "q4_K,q6_K,q5_K", "-q"}, start).code, ok);
}

TEST_F(Failures, ALimitOfTheFileSize) {
  Start start;
  start.file_limit = 1000;
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"synth", "-o", y_}, {"dequant", model_, "q6_K.weight", "-o", y_}, {"info", model_, "--json", y_}}) {
    const Finished result = run(words, start);
    EXPECT_EQ(result.code, io) << words[0];
    EXPECT_NE(result.err.find("File too large"), std::string::npos) << result.err;
  }
  EXPECT_EQ(directory_.entries(), (std::vector<std::string>{"model.gguf", "x.npy"}));
}

// A mapped file that is cut while it is read: one line, not a silent death. The output is a pipe that holds less than
// the program decodes at once, read only after the cut, so that the program stands in the middle of the tensor.
TEST_F(Failures, AModelThatIsShortenedMeanwhile) {
  const std::string big = directory_.file("big.gguf");
  gguf::Writer writer;
  ASSERT_TRUE(writer.add_tensor("w", 0, std::vector<std::uint64_t>{1024, 1024}).ok());
  ASSERT_TRUE(writer.begin(big).ok());
  ASSERT_TRUE(writer.append(std::vector<std::uint8_t>(4 << 20)).ok() && writer.finish().ok());
  const std::string pipe = directory_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread cutter([&] {
    const int reader = ::open(pipe.c_str(), O_RDONLY);
    std::filesystem::resize_file(big, 1000);
    std::array<char, 65536> buffer;
    while (::read(reader, buffer.data(), buffer.size()) > 0) {
    }
    ::close(reader);
  });
  expect({"dequant", big, "w", "-o", pipe}, io, "shortened");
  cutter.join();
}

}  // namespace
}  // namespace lanewise::program_test
