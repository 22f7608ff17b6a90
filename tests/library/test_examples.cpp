// The examples: they run, say what the library says, and stand in the README as they are.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "library/support.h"

namespace lanewise::test {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Ran {
  int code = -1;
  std::string output;  // stdout and stderr
};
Ran run(const std::string& program, const std::string& argument) {
  Ran ran;
  std::FILE* pipe = popen(("'" + program + "' " + argument + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) ran.output.push_back(static_cast<char>(c));
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ran.code = WEXITSTATUS(status);
  return ran;
}

TEST(Examples, MultiplyTheFirstMatrix) {
  const auto bytes = usual_model();
  const std::string path = testing::TempDir() + "lanewise_example.gguf";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const lw::Model model(path);
  const lw::Device device({.threads = 1});
  const lw::Matrix q(device, model, "blk.0.q.weight");
  Floats y(48);
  lw::gemv(device, q, lw::Activation(device, Floats(512, 1.0F), 512), y);
  char expected[100];
  std::snprintf(expected, sizeof expected, "blk.0.q.weight (q4_K): y[0] = %.9g\n", static_cast<double>(y[0]));
  for (const char* program : {LANEWISE_EXAMPLE_CPP, LANEWISE_EXAMPLE_C}) {
    const Ran ran = run(program, "'" + path + "'");
    EXPECT_EQ(ran.code, 0) << program;
    EXPECT_EQ(ran.output, expected) << program;
    EXPECT_EQ(run(program, "").code, 2);
    const Ran missing = run(program, "/no/such/file");
    EXPECT_EQ(missing.code, 1);
    EXPECT_NE(missing.output.find("/no/such/file"), std::string::npos) << missing.output;
  }
  std::remove(path.c_str());
}

TEST(Examples, TheReadmesBlockIsTheExample) {
  const std::string example = read_file(LANEWISE_SOURCE_DIR "/examples/gemv.cpp");
  EXPECT_LE(std::ranges::count(example, '\n'), 30);
  const std::string readme = read_file(LANEWISE_SOURCE_DIR "/README.md");
  const std::string fence = "```cpp\n";
  const auto begin = readme.find(fence);
  ASSERT_NE(begin, std::string::npos) << "README.md has no block of C++";
  const auto end = readme.find("```", begin + fence.size());
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(readme.substr(begin + fence.size(), end - begin - fence.size()), example);
}

}  // namespace
}  // namespace lanewise::test
