// `lanewise bench --peer`: what it asks, and that a peer that fails in any way gives no figure. The peers are shell
// scripts; bench/peers/ggml is a real one.
#include <signal.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench_crew.h"
#include "bench_peer.h"
#include "program/process.h"

namespace lanewise::program_test {
namespace {

using Json = nlohmann::json;
using program::Peer;
using program::PeerOptions;

// A shell script in the role of a peer: what it runs for each question, with $format, $k, $rows, $tokens, $threads and
// $bytes of the last case, $asked rounds so far, and $here, its folder. Questions are kept in $here/log.
struct Fake {
  std::string hello = "echo hello 1 fake 7.1 made up";
  std::string on_case = "echo ok in its head";
  std::string round = "echo time 10 5";

  [[nodiscard]] std::string in(const Directory& directory) const {
    std::string file = directory.file("peer");
    const std::string here = std::filesystem::path(file).parent_path().string();
    write_file(file, "#!/bin/sh\nhere='" + here +
                         "'\nasked=0\n"
                         "while read -r verb format k rows tokens threads bytes; do\n"
                         "echo $verb $format $k $rows $tokens $threads $bytes >> $here/log\n"
                         "case $verb in\nhello) " +
                         hello + " ;;\ncase) " + on_case + " ;;\nround) asked=$((asked + 1)); " + round +
                         " ;;\nesac\ndone\n");
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }
};

std::vector<std::string> small(const std::string& peer, std::vector<std::string> more,
                               const std::string& rounds = "2") {
  std::vector<std::string> words{"bench",  "--shape",   "256x64", "--rounds", rounds, "--bytes",
                                 "200000", "--threads", "2",      "--peer",   peer};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The cases that bench times beside such a peer; none where it doesn't end well.
Json cases_beside(const Fake& fake, std::vector<std::string> more, const std::string& format = "q4_0") {
  const Directory directory;
  more.insert(more.end(), {"--format", format, "--json", "-"});
  const Finished result = run(small(fake.in(directory), more));
  EXPECT_EQ(result.code, ok) << result.err;
  return result.code == ok ? Json::parse(result.out)["cases"] : Json::array();
}

void expect_figure(const Json& one) {
  EXPECT_FALSE(one.contains("peer_missing")) << one;
  ASSERT_TRUE(one.contains("peer_us")) << one;
  EXPECT_EQ(one["peer_us"], 0.5);
  EXPECT_GT(one["peer_fraction"].get<double>(), 0);
}

void expect_none(const Json& one, const std::string& says) {
  for (const char* key : {"peer_us", "peer_over_ours", "peer_fraction", "peer_spread"}) {
    EXPECT_FALSE(one.contains(key)) << one;
  }
  ASSERT_TRUE(one.contains("peer_missing")) << one;
  const std::string missing = one["peer_missing"].get<std::string>();
  EXPECT_NE(missing.find(says), std::string::npos) << missing;
  // Ours is there all the same.
  EXPECT_GT(one["median_us"].get<double>(), 0);
  EXPECT_EQ(one["outputs_differing"], 0);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(BenchPeer, IsAskedTheSameCasesInEveryRound) {
  const Directory directory;
  const std::string file = directory.file("bench.json");
  const Finished result = run(small(
      Fake{}.in(directory),
      {"--format", "q8_0", "--layout", "raw", "--tokens", "1,8", "--hot", "--strict", "--verbose", "--json", file},
      "1"));
  ASSERT_EQ(result.code, ok) << result.err;
  const Json document = Json::parse(read_file(file));
  EXPECT_EQ(document["peer"]["name"], "fake");
  EXPECT_EQ(document["peer"]["version"], "7.1");
  EXPECT_EQ(document["peer"]["about"], "made up");
  ASSERT_EQ(document["cases"].size(), 4U);
  for (const Json& one : document["cases"]) {
    expect_figure(one);
    EXPECT_EQ(one["peer_how"], "in its head");
    EXPECT_EQ(one["peer_spread"], 0);
    // Of one round, the median of the ratios is the ratio of the medians.
    EXPECT_NEAR(one["peer_over_ours"].get<double>() * one["median_us"].get<double>(), 0.5, 1e-6);
  }
  // q8_0: 64 rows of 272 bytes; 11 copies lie in 200000 bytes, one is walked hot.
  const std::string log = read_file(directory.file("log"));
  for (const std::string bytes : {"191488", "17408"}) {
    for (const std::string tokens : {"1", "8"}) {
      const std::string line = fmt::format("case q8_0 256 64 {} 2 {}\n", tokens, bytes);
      EXPECT_EQ(count(log, line), 2U) << log;  // made ready, and timed
    }
  }
  EXPECT_EQ(count(log, "round"), 4U) << log;
  EXPECT_NE(result.out.find("peer: fake 7.1"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("x peer"), std::string::npos) << result.out;
  for (std::size_t at = 0; at < result.out.size();) {
    const std::size_t end = result.out.find('\n', at);
    const std::string line = result.out.substr(at, end - at);
    if (line.starts_with("q8_0") || line.starts_with("format")) {
      EXPECT_LE(line.size(), 100U) << line;
    }
    at = end + 1;
  }
}

TEST(BenchPeer, WithoutOneThereIsNoWordOfIt) {
  const Finished result =
      run({"bench", "--shape", "256x64", "--rounds", "1", "--bytes", "200000", "--format", "q4_0", "--json", "-"});
  ASSERT_EQ(result.code, ok) << result.err;
  EXPECT_EQ(result.out.find("peer"), std::string::npos) << result.out;
}

TEST(BenchPeer, WhatItDoesNotKnowHasNoFigure) {
  Fake fake;
  fake.on_case = "if [ $format = q4_K ]; then echo unsupported never heard of $format; else echo ok; fi";
  const Json cases = cases_beside(fake, {"--tokens", "1,2"}, "q4_K,q4_0");
  ASSERT_EQ(cases.size(), 4U);
  expect_none(cases[0], "never heard of q4_K");
  expect_none(cases[1], "never heard of q4_K");
  expect_figure(cases[2]);
  expect_figure(cases[3]);
  fake.on_case = "echo ok";
  fake.round = "if [ $asked = 1 ]; then echo time 10 5; else echo unsupported on second thoughts; fi";
  expect_none(cases_beside(fake, {"--tokens", "1"})[0], "on second thoughts");
}

// Of a window that it died in, at once or later, there is no figure; the others have theirs, from a new process.
TEST(BenchPeer, WhatItDiesInHasNoFigure) {
  Fake fake;
  fake.on_case = "if [ $tokens = 2 ]; then kill -ILL $$; else echo ok; fi";
  Json cases = cases_beside(fake, {"--tokens", "1,2,4"});
  ASSERT_EQ(cases.size(), 3U);
  expect_figure(cases[0]);
  expect_none(cases[1], "was killed by signal 4");
  expect_figure(cases[2]);

  fake.on_case = "echo ok";
  fake.round = "if [ $asked = 4 ]; then exit 9; fi; echo time 10 5";
  cases = cases_beside(fake, {"--tokens", "1,2,4"});
  ASSERT_EQ(cases.size(), 3U);
  expect_none(cases[0], "ended with exit code 9");
  expect_figure(cases[1]);
  expect_figure(cases[2]);

  fake.round = "exec 1>&-";
  expect_none(cases_beside(fake, {"--tokens", "1"})[0], "closed its output");
}

TEST(BenchPeer, NonsenseHasNoFigure) {
  for (const char* answer :
       {"", "time", "time 10", "time 0 5", "time -1 5", "time 10 0", "time 10 -5", "time 10 nan", "time 10 inf",
        "time 10 5 6", "time 10 5x", "time x 5", "Time 10 5", "ok", "hello 1 fake 7", "time 10 1e12"}) {
    Fake fake;
    fake.round = std::string("echo '") + answer + "'";
    const Json cases = cases_beside(fake, {"--tokens", "1"});
    ASSERT_EQ(cases.size(), 1U) << answer;
    expect_none(cases[0], std::string("answered 'round' with '") + answer + "'");
  }
  Fake fake;
  fake.on_case = "echo time 10 5";
  expect_none(cases_beside(fake, {"--tokens", "1"})[0], "answered 'case q4_0 256 64 1 2 ");
  fake.on_case = "printf 'ok\\ntime 10 5\\n'";
  expect_none(cases_beside(fake, {"--tokens", "1"})[0], "spoke without being asked");
  fake.on_case = "while :; do printf 0123456789; done";
  expect_none(cases_beside(fake, {"--tokens", "1"})[0], "01234567");
  fake.on_case = "printf 'unsupported \\033[31m\\n'";
  expect_none(cases_beside(fake, {"--tokens", "1"})[0], "\\x1b[31m");
}

TEST(BenchPeer, OneThatHangsIsEnded) {
  const Directory directory;
  Fake fake;
  fake.round = "sleep 1000 & echo $$ $! > $here/processes; wait";
  const Finished result = run(small(fake.in(directory), {"--format", "q4_0", "--tokens", "1", "--peer-patience", "3"}));
  EXPECT_EQ(result.code, ok) << result.err;
  EXPECT_NE(result.out.find("didn't answer 'round' within 3 s"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("no figure of the peer's in 1 of 1 cases"), std::string::npos) << result.out;
  // Both it and what it started. The latter is nobody's child any more: init takes it away in its own time.
  std::istringstream processes(read_file(directory.file("processes")));
  pid_t peer = 0;
  pid_t child = 0;
  ASSERT_TRUE(processes >> peer >> child);
  EXPECT_EQ(::kill(peer, 0), -1);
  const auto runs = [](pid_t process) {
    const std::string stat = read_file("/proc/" + std::to_string(process) + "/stat");
    return !stat.empty() && stat.find(") Z") == std::string::npos;
  };
  for (int tries = 0; tries < 100 && runs(child); ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(runs(child));
}

TEST(BenchPeer, AskedStrictlyAMissingFigureIsAnError) {
  const Directory directory;
  Fake fake;
  fake.on_case = "echo unsupported";
  const Finished result = run(small(fake.in(directory), {"--format", "q4_0", "--tokens", "1,2", "--strict"}));
  EXPECT_EQ(result.code, unsupported);
  EXPECT_NE(result.err.find("no figure of the peer's in 2 of 2 cases"), std::string::npos) << result.err;
}

TEST(BenchPeer, OneThatCanNotStartIsAnErrorAtOnce) {
  const Directory directory;
  const auto fails = [&](const std::string& peer, int code, const std::string& says) {
    const Finished result = run(small(peer, {"--format", "q4_0", "--tokens", "1"}));
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(result.err.starts_with("lanewise: peer '")) << result.err;
    EXPECT_NE(result.err.find(says), std::string::npos) << result.err;
  };
  fails(directory.file("nosuch"), input, "can't be started: No such file");
  write_file(directory.file("plain"), "echo hello 1 plain 1\n");
  fails(directory.file("plain"), io, "can't be started: Permission denied");
  for (const auto& [hello, says] : std::vector<std::pair<std::string, std::string>>{
           {"echo hi", "answered 'hello 1' with 'hi'"},
           {"echo hello 2 fake 7", "answered 'hello 1' with 'hello 2 fake 7'"},
           {"echo hello 1 fake", "answered 'hello 1' with 'hello 1 fake'"},
           {"exit 3", "ended with exit code 3"},
           {"kill -SEGV $$", "was killed by signal 11"}}) {
    Fake fake;
    fake.hello = hello;
    fails(fake.in(directory), io, says);
  }
  EXPECT_EQ(run({"bench", "--strict"}).code, usage);
  EXPECT_EQ(run({"bench", "--pack", "a", "--peer", "b"}).code, usage);
  EXPECT_EQ(run({"bench", "--peer-word", "a"}).code, usage);
  EXPECT_EQ(run({"bench", "--peer", "a", "--peer-patience", "0"}).code, usage);
}

// Between two questions no instruction of it runs.
TEST(BenchPeer, IsStoppedBetweenQuestions) {
  const Directory directory;
  Fake fake;
  fake.hello = "echo hello 1 $$ $0";
  PeerOptions options;
  options.program = fake.in(directory);
  const auto started = Peer::start(options);
  ASSERT_TRUE(started) << started.error().message;
  Peer& peer = **started;
  const std::string stat_file = "/proc/" + peer.name().name + "/stat";
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(read_file(stat_file).find(") T "), std::string::npos) << read_file(stat_file);
    const auto us = peer.time_round();
    ASSERT_TRUE(us) << us.error().message;
    EXPECT_EQ(*us, 0.5);
  }
}

// Words of its command line reach it as they are.
TEST(BenchPeer, HasItsOwnWords) {
  const Directory directory;
  write_file(directory.file("peer"), "#!/bin/sh\nread -r line\necho hello 1 fake 1 \"$#:$1:$2\"\n");
  std::filesystem::permissions(directory.file("peer"), std::filesystem::perms::owner_all);
  PeerOptions options;
  options.program = directory.file("peer");
  options.arguments = {"two words", "$HOME"};
  const auto started = Peer::start(options);
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ((*started)->name().about, "2:two words:$HOME");
}

// Parked threads take no processor; a call wakes them, whether or not wake() came first.
TEST(Crew, ParkedThreadsSleep) {
  for (const bool spin : {true, false}) {
    program::Crew crew(4, spin);
    std::vector<int> calls(crew.threads(), 0);
    const auto call = [&] { crew.run([&](std::uint32_t part) { ++calls[part]; }); };
    call();
    for (int i = 0; i < 50; ++i) {
      crew.park();
      if (i % 2 == 0) crew.wake();
      call();
    }
    for (const int each : calls) EXPECT_EQ(each, 51);
    crew.park();
    crew.park();
    // A worker has said that it goes to sleep, and may be on its way there.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::clock_t before = std::clock();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 50);
  }
}

}  // namespace
}  // namespace lanewise::program_test
