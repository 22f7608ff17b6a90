// `lanewise bench`: that it measures what it says, in small. How fast anything is can't be tested here.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "arithmetic/scalar.h"
#include "backends/cpu/cpu.h"
#include "backends/cuda/cuda.h"
#include "bench_ceiling.h"
#include "bench_crew.h"
#include "bench_machine.h"
#include "bench_run.h"
#include "formats/formats.h"
#include "harness/case.h"
#include "program/process.h"

namespace lanewise::program_test {
namespace {

using Json = nlohmann::json;

std::vector<std::string> small(std::vector<std::string> more) {
  std::vector<std::string> words{"bench", "--shape", "256x64", "--rounds", "2", "--bytes", "1000000"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}
std::vector<std::string> small_model(const std::string& model) {
  return {"bench", "--model", model, "--rounds", "1", "--bytes", "1000000", "--tokens", "1,2"};
}

void expect_failure(const std::vector<std::string>& words, int code, const std::string& says, const Start& start = {}) {
  const Finished result = run(words, start);
  EXPECT_EQ(result.code, code) << result.err;
  EXPECT_TRUE(result.err.starts_with("lanewise: ")) << result.err;
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  EXPECT_NE(result.err.find(says), std::string::npos) << result.err;
}

// Every line of the table fits, and the cases are there in their order.
TEST(Bench, PrintsATableThatFits) {
  const Finished result = run(small({"--format", "q4_K,iq2_xxs", "--tokens", "1,2,3", "--hot"}));
  ASSERT_EQ(result.code, ok) << result.err;
  std::size_t at = 0;
  int rows = 0;
  while (at < result.out.size()) {
    const std::size_t end = result.out.find('\n', at);
    const std::string line = result.out.substr(at, end - at);
    const bool of_table = line.starts_with("q4_K") || line.starts_with("iq2_xxs") || line.starts_with("format");
    EXPECT_LE(line.size(), 100U) << line;
    if (of_table && !line.starts_with("format")) ++rows;
    at = end + 1;
  }
  EXPECT_EQ(rows, 2 * 3 * 2) << result.out;
  // 64 rows, 1 + 2 + 3 tokens, two formats, cold and hot.
  EXPECT_NE(result.out.find("bits: 1,536 outputs compared with the scalar kernel's after timing, 0 differ"),
            std::string::npos)
      << result.out;
  EXPECT_EQ(run(small({"--format", "q4_K", "--quiet"})).out, "");
}

TEST(Bench, JsonSaysWhatWasMeasured) {
  Directory directory;
  const std::string file = directory.file("bench.json");
  for (const std::string layout : {"raw", "rows16"}) {
    const Finished result = run(small({"--format", "q8_0,q6_K", "--tokens", "1,8", "--layout", layout, "--activation",
                                       "x8", "--threads", "2", "--json", file}));
    if (layout == "rows16" && cpu_capabilities() == CAP_NONE) {
      EXPECT_EQ(result.code, unsupported) << result.err;
      continue;
    }
    ASSERT_EQ(result.code, ok) << result.err;
    const Json document = Json::parse(read_file(file));
    EXPECT_GT(document["ceiling_gbps"].get<double>(), 0);
    EXPECT_EQ(document["machine"]["threads"], 2);
    EXPECT_TRUE(document["machine"].contains("huge_pages"));
    EXPECT_GT(document["machine"]["pace"]["looks"], 0);
    EXPECT_GT(document["machine"]["pace"]["least"], 0);
    EXPECT_LE(document["machine"]["pace"]["median"], 1);
    EXPECT_FALSE(document["machine"]["cpu"].get<std::string>().empty());
    EXPECT_TRUE(document.contains("library_version"));
    ASSERT_EQ(document["cases"].size(), 4U);
    int i = 0;
    for (const Json& one : document["cases"]) {
      const std::string format = i < 2 ? "q8_0" : "q6_K";
      EXPECT_EQ(one["format"], format);
      EXPECT_EQ(one["tokens"], i % 2 == 0 ? 1 : 8);
      EXPECT_EQ(one["rows"], 64);
      EXPECT_EQ(one["cols"], 256);
      EXPECT_EQ(one["device"], "cpu");
      EXPECT_EQ(one["layout"], layout);
      const std::uint64_t bytes = 64 * row_bytes(*find_format(format), 256);
      EXPECT_EQ(one["bytes"], bytes);
      const double us = one["median_us"].get<double>();
      EXPECT_GT(us, 0);
      EXPECT_GE(one["spread"].get<double>(), 0);
      EXPECT_GT(one["fraction"].get<double>(), 0);
      EXPECT_NEAR(one["gbps"].get<double>(), static_cast<double>(bytes) / us / 1e3, 1e-9 * 1e6);
      EXPECT_EQ(one["outputs_compared"], 64 * one["tokens"].get<int>());
      EXPECT_EQ(one["outputs_differing"], 0);
      // The problem is what ran, and verify reads it.
      const auto problem = parse_case(one["problem"].get<std::string>());
      ASSERT_TRUE(problem) << one["problem"];
      EXPECT_EQ(problem->kernel, one["kernel"]);
      EXPECT_EQ(layout_name(problem->layout), layout);
      EXPECT_EQ(problem->planes, Planes::x8);
      EXPECT_EQ(run({"verify", one["problem"].get<std::string>()}).code, ok);
      ++i;
    }
  }
}

TEST(Bench, JsonTakesThePlaceOfTheText) {
  const Finished result = run(small({"--format", "f16", "--tokens", "1", "--json", "-"}));
  ASSERT_EQ(result.code, ok) << result.err;
  const Json document = Json::parse(result.out);
  // Float formats have no packed layout.
  EXPECT_EQ(document["cases"][0]["layout"], "raw");
}

TEST(Bench, ForcedInstructionSetsRun) {
  for (const char* isa : {"scalar", "avx2", "avxvnni", "avx512"}) {
    const Start forced{{{"LANEWISE_ISA", isa}}, "", false};
    const Finished result = run(small({"--format", "q4_0", "--tokens", "1", "--json", "-"}), forced);
    if (result.code == unsupported) continue;  // said so: not on this processor
    ASSERT_EQ(result.code, ok) << result.err;
    const std::string kernel = Json::parse(result.out)["cases"][0]["kernel"].get<std::string>();
    EXPECT_TRUE(kernel.ends_with(std::string(".") + isa)) << kernel;
  }
  const Start scalar{{{"LANEWISE_ISA", "scalar"}}, "", false};
  expect_failure(small({"--format", "q4_0", "--layout", "rows16"}), unsupported, "rows16", scalar);
}

TEST(Bench, Models) {
  Directory directory;
  const std::string model = directory.file("model.gguf");
  ASSERT_EQ(run({"synth", "-o", model}).code, ok);
  const std::string file = directory.file("bench.json");
  auto words = small_model(model);
  words.insert(words.end(), {"--json", file});
  const Finished result = run(words);
  ASSERT_EQ(result.code, ok) << result.err;
  EXPECT_NE(result.out.find("tokens/s"), std::string::npos);
  EXPECT_NE(result.out.find("no attention"), std::string::npos);
  const Json document = Json::parse(read_file(file));
  ASSERT_EQ(document["model"]["projection"].size(), 2U);
  // What the projection comes to, from the cases.
  for (const Json& projection : document["model"]["projection"]) {
    double us = 0;
    for (const Json& one : document["cases"]) {
      if (one["tokens"] != projection["tokens"]) continue;
      for (const Json& shape : document["model"]["shapes"]) {
        if (shape["format"] == one["format"] && shape["rows"] == one["rows"] && shape["cols"] == one["cols"]) {
          us += one["median_us"].get<double>() * shape["passes"].get<double>();
        }
      }
    }
    EXPECT_NEAR(projection["ms"].get<double>(), us / 1e3, 1e-6 * us);
    EXPECT_NEAR(projection["tokens_per_second"].get<double>(), projection["tokens"].get<double>() * 1e6 / us,
                1e-6 * 1e6);
  }
}

TEST(Bench, Packing) {
  Directory directory;
  const std::string model = directory.file("model.gguf");
  ASSERT_EQ(run({"synth", "-o", model}).code, ok);
  const std::string file = directory.file("pack.json");
  const Finished result = run({"bench", "--pack", model, "--rounds", "2", "--json", file});
  ASSERT_EQ(result.code, ok) << result.err;
  EXPECT_NE(result.out.find("x memcpy"), std::string::npos);
  const Json pack = Json::parse(read_file(file))["pack"];
  EXPECT_TRUE(pack["unpacked_equal"].get<bool>());
  EXPECT_EQ(pack["file_bytes"].get<std::size_t>(), read_file(model).size());
  EXPECT_GT(pack["packed_bytes"].get<double>(), pack["bytes"].get<double>());  // last tiles are padded
  for (const char* seconds : {"read_s", "memcpy_s", "pack_s", "memcpy_again_s", "pack_again_s"}) {
    EXPECT_GT(pack[seconds].get<double>(), 0) << seconds;
  }
}

TEST(Bench, Errors) {
  for (const char* shape : {"256", "256x", "x64", "256x64x2", "0x64", "256x0", "-1x64", "axb"}) {
    expect_failure({"bench", "--shape", shape}, usage, "4096x14336");
  }
  expect_failure({"bench", "--shape", "100x64", "--format", "q4_K"}, usage, "256");
  expect_failure({"bench", "--layout", "sideways"}, usage, "there are raw");
  expect_failure({"bench", "--format", "q9_9"}, usage, "there are f32");
  expect_failure({"bench", "--tokens", "0"}, usage, "from 1 to");
  expect_failure({"bench", "--rounds", "0"}, usage, "--rounds");
  expect_failure({"bench", "--activation", "x9"}, usage, "x8,x16,x24");
  expect_failure({"bench", "--device", "metal"}, unsupported, "not in this build");
  for (const char* option : {"--hot", "--sleep"}) {
    expect_failure({"bench", "--device", "cuda:0", option}, usage, std::string(option) + " is of the CPU");
  }
  expect_failure({"bench", "--device", "cuda", "--pack", "a"}, usage, "--pack is of the CPU");
  if (const auto found = cuda::list_devices(); !found) {
    expect_failure({"bench", "--device", "cuda:0"}, unsupported, found.error().message);
  }
  expect_failure({"bench", "--device", "cuda:9999"}, unsupported, "there is no device 'cuda:9999'");
  expect_failure({"bench", "--device", "cuda:x"}, unsupported, "there is no device 'cuda:x'");
  expect_failure(small({"--kernel", "nosuch"}), unsupported, "nosuch");
  expect_failure({"bench", "--model", "nosuch.gguf"}, input, "nosuch.gguf");
  expect_failure({"bench", "--pack", "nosuch.gguf"}, input, "nosuch.gguf");
  expect_failure({"bench", "--model", "a", "--shape", "256x64"}, usage, "--shape");
  expect_failure({"bench", "--pack", "a", "--shape", "256x64"}, usage, "--shape");
  expect_failure({"bench", "--pack", "a", "--model", "a"}, usage, "--model");
  expect_failure(small({"--format", "q4_0"}), io, "No space left", {{}, "/dev/full", false});
  expect_failure(small({"--format", "q4_0", "--json", "/dev/full"}), io, "'/dev/full'");
}

// A kernel with one wrong bit, and one that leaves an output alone.
TEST(Bench, SeesWrongBits) {
  program::BenchGroup group;
  group.problem.format = Format::Q8_0;
  group.problem.cols = 64;
  group.problem.rows = 40;
  group.tokens = {1, 3};
  group.rounds = 1;
  group.threads = 2;
  auto memory = program::WalkedMemory::create(20 * program::copy_stride(group.problem));
  ASSERT_TRUE(memory);
  const auto differing = [&](const Launch& launch) {
    group.replacement = launch;
    const auto times = program::time_group(group, *memory);
    EXPECT_TRUE(times);
    EXPECT_EQ(times->copies, 20U);
    EXPECT_EQ(times->times.at(1).compared, 3 * 40U);
    return times->times.at(1).differing;
  };
  EXPECT_EQ(differing(&gemv_scalar), 0U);
  EXPECT_EQ(differing([](const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t begin,
                         std::uint64_t end) {
              gemv_scalar(w, x, y, begin, end);
              if (begin == 0) static_cast<std::uint32_t*>(y.data)[7] ^= 1U;
            }),
            1U);
  EXPECT_EQ(differing([](const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t begin,
                         std::uint64_t end) { gemv_scalar(w, x, y, begin, end == w.rows ? end - 1 : end); }),
            3U);
}

// Each part once a call, on the threads asked for, spinning or asleep.
TEST(Crew, RunsEachPartOnce) {
  for (const bool spin : {true, false}) {
    for (const unsigned threads : {1U, 2U, 5U}) {
      program::Crew crew(threads, spin);
      std::vector<std::uint64_t> calls(crew.threads(), 0);
      constexpr std::uint64_t times = 200;
      for (std::uint64_t i = 0; i < times; ++i) crew.run([&](std::uint32_t part) { ++calls[part]; });
      for (const std::uint64_t count : calls) EXPECT_EQ(count, times);
    }
  }
}

TEST(Ceiling, LoopsReadWhatTheyAreGiven) {
  auto memory = program::WalkedMemory::create(std::uint64_t{1} << 22U);
  ASSERT_TRUE(memory);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->data()) % 64, 0U);
  EXPECT_GE(program::read_loops().size(), 2U);
  for (const program::ReadLoop& loop : program::read_loops()) {
    loop.read(memory->data(), 0);
    loop.read(memory->data(), memory->size());
  }
}

TEST(Median, OfOddAndEvenCounts) {
  EXPECT_EQ(program::median({3, 1, 2}), 2);
  EXPECT_EQ(program::median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(program::median({}), 0);
}

}  // namespace
}  // namespace lanewise::program_test
