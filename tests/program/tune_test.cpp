// `lanewise tune` and `lanewise lab`, in small: that they find, keep, refuse and say what docs/tuning.md promises.
// Which tile is the fastest can't be tested here.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "backends/cpu/cpu.h"
#include "bench_machine.h"
#include "program/process.h"
#include "tune/store.h"
#include "tune_device.h"

namespace lanewise::program_test {
namespace {

using Json = nlohmann::json;

class Tune : public testing::Test {
 protected:
  // In little time, with little memory, and a cache of its own.
  Finished tune(std::vector<std::string> more) const {
    std::vector<std::string> words{"tune", "--bytes", "1000000"};
    if (std::ranges::count(more, "--timing") == 0) words.insert(words.end(), {"--timing", "0.0001"});
    words.insert(words.end(), more.begin(), more.end());
    return once_quiet(words);
  }
  Finished lab(std::vector<std::string> more) const {
    more.insert(more.begin(), "lab");
    more.insert(more.end(), {"--runs", "1", "--rounds", "5"});
    return once_quiet(more);
  }
  // A machine that others use at the time may leave too few rounds that count: the command says so, and that is no
  // fault of what is tested here.
  Finished once_quiet(const std::vector<std::string>& words) const {
    Finished result = go(words);
    for (int i = 0; i < 50 && (result.out + result.err).find("too much interference") != std::string::npos; ++i) {
      result = go(words);
    }
    return result;
  }
  Finished go(const std::vector<std::string>& words) const { return go(words, {}); }
  Finished go(const std::vector<std::string>& words, Start start) const {
    start.environment = {{"XDG_CACHE_HOME", cache_}};
    return run(words, start);
  }
  std::string store() const {
    for (const auto& each : std::filesystem::recursive_directory_iterator(cache_)) {
      if (each.path().extension() == ".json") return each.path().string();
    }
    return {};
  }
  tune::Store kept() const {
    const auto read = tune::parse_store(read_file(store()));
    EXPECT_TRUE(read) << read.error().message;
    return read ? *read : tune::Store{};
  }

  Directory folder_;
  std::string cache_ = folder_.file("cache");
};

const std::vector<std::string> one_shape{"--format", "q4_K", "--shape", "512x96", "--tokens", "1,2"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(Tune, FindsKeepsAndSaysWhatItPromises) {
  const std::string file = folder_.file("tune.json");
  const Finished result = tune(with(one_shape, {"--json", file, "--threads", "2"}));
  ASSERT_EQ(result.code, ok) << result.err;
  EXPECT_NE(result.out.find("2 entries in "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("kept in " + cache_), std::string::npos) << result.out;

  const Json json = Json::parse(read_file(file));
  EXPECT_EQ(json["kind"], "tune");
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_EQ(json["threads"], 2);
  EXPECT_EQ(json["finished"], true);
  EXPECT_TRUE(json["model"].is_null());
  EXPECT_EQ(json["fingerprint"]["kernels"].get<std::string>().size(), 16U);
  ASSERT_EQ(json["entries"].size(), 2U);
  for (const Json& entry : json["entries"]) {
    EXPECT_EQ(entry["format"], "q4_K");
    EXPECT_EQ(entry["cols"], 512);
    EXPECT_EQ(entry["rows"], 96);
    EXPECT_GT(entry["default"]["cold_us"], 0);
    EXPECT_GT(entry["default"]["hot_us"], 0);
    EXPECT_GE(entry["rounds"], 5);
    std::size_t measured = 0;
    std::size_t chosen = 0;
    for (const Json& candidate : entry["candidates"]) {
      EXPECT_NE(candidate["status"], "failed") << candidate;
      if (candidate["status"] != "not measured") ++measured;
      if (candidate["status"] == "chosen") ++chosen;
    }
    EXPECT_EQ(chosen, 1U);
    // A build without SIMD kernels has the default alone.
    EXPECT_GE(measured, std::min<std::size_t>(2, entry["candidates"].size()));
    EXPECT_EQ(entry["verified_values"], measured * 96 * entry["tokens"].get<std::size_t>());
    if (!entry["won"]) {
      EXPECT_EQ(entry["ratio"], 1);
      EXPECT_EQ(entry["chosen"]["tile"], entry["default"]["tile"]);
    } else {
      EXPECT_LE(entry["ratio"], 0.99);
    }
  }

  const tune::Store found = kept();
  EXPECT_EQ(found.fingerprint, tune::fingerprint_of(nullptr));
  ASSERT_EQ(found.entries.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found.entries[i].tile, json["entries"][i]["chosen"]["tile"]);
    EXPECT_EQ(found.entries[i].key.tokens, json["entries"][i]["tokens"]);
    EXPECT_EQ(found.entries[i].key.threads, 2U);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(std::filesystem::path(store()).parent_path()),
                          std::filesystem::directory_iterator()),
            1)
      << "nothing half-written lies there";
}

TEST_F(Tune, AddsToWhatItFoundBefore) {
  ASSERT_EQ(tune({"--format", "q8_0", "--shape", "256x64", "--tokens", "1"}).code, ok);
  ASSERT_EQ(tune(one_shape).code, ok);
  EXPECT_EQ(kept().entries.size(), 3U);
  ASSERT_EQ(tune(one_shape).code, ok);
  EXPECT_EQ(kept().entries.size(), 3U);
}

TEST_F(Tune, IgnoresADamagedStoreWithALine) {
  ASSERT_EQ(tune({"--format", "q8_0", "--shape", "256x64", "--tokens", "1"}).code, ok);
  const std::string whole = read_file(store());
  write_file(store(), whole.substr(0, whole.size() / 2));
  const Finished result = tune(one_shape);
  EXPECT_EQ(result.code, ok);
  EXPECT_NE(result.err.find("earlier results are ignored: "), std::string::npos) << result.err;
  EXPECT_EQ(kept().entries.size(), 2U);
}

TEST_F(Tune, IgnoresAForeignStoreWithALine) {
  ASSERT_EQ(tune({"--format", "q8_0", "--shape", "256x64", "--tokens", "1"}).code, ok);
  tune::Store foreign = kept();
  foreign.fingerprint.kernels = "0000000000000000";
  write_file(store(), tune::store_text(foreign));
  const Finished result = tune(one_shape);
  EXPECT_EQ(result.code, ok);
  EXPECT_NE(result.err.find("made with kernels '0000000000000000'"), std::string::npos) << result.err;
  EXPECT_EQ(kept().entries.size(), 2U);
}

TEST_F(Tune, KeepsNothingWhereAsked) {
  ASSERT_EQ(tune(with(one_shape, {"--keep-nothing"})).code, ok);
  EXPECT_FALSE(std::filesystem::exists(cache_));
  const std::string file = folder_.file("elsewhere.json");
  ASSERT_EQ(tune(with(one_shape, {"--store", file})).code, ok);
  EXPECT_FALSE(std::filesystem::exists(cache_));
  EXPECT_EQ(tune::parse_store(read_file(file))->entries.size(), 2U);
}

TEST_F(Tune, KeepsToItsBudgetAndSaysWhatWasLeft) {
  const std::string file = folder_.file("tune.json");
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> words{"--format", "all", "--shape", "512x96,1024x96,1536x96", "--tokens", "1,2,3,4"};
  const Finished result = tune(with(words, {"--budget", "1.5", "--timing", "0.0005", "--json", file}));
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_EQ(result.code, ok) << result.err;
  EXPECT_LT(took, 30) << "all of it takes more than a minute";
  const Json json = Json::parse(read_file(file));
  EXPECT_EQ(json["finished"], false);
  EXPECT_GT(json["left"].size(), 50U);
  EXPECT_EQ(json["left"].size() + json["entries"].size(), 28U * 3 * 4);
  EXPECT_NE(result.out.find("left: "), std::string::npos);
}

TEST_F(Tune, InterruptedKeepsWhatItFound) {
  const std::string file = folder_.file("kept.json");
  const std::string json = folder_.file("tune.json");
  Start start;
  start.signal = SIGINT;
  start.signal_once = file;
  const Finished result = go({"tune", "--format", "all", "--shape", "512x96,1024x96,1536x96,2048x96", "--bytes",
                              "1000000", "--timing", "0.0005", "--store", file, "--json", json},
                             start);
  EXPECT_EQ(result.code, 130) << result.err;
  const std::string says = "interrupted; ";
  const std::size_t at = result.err.find(says);
  ASSERT_NE(at, std::string::npos) << result.err;
  const std::size_t entries = std::stoul(result.err.substr(at + says.size()));
  EXPECT_GE(entries, 1U);
  EXPECT_LT(entries, 28U * 4 * 4);
  EXPECT_NE(result.err.find("entries were found and kept"), std::string::npos) << result.err;
  EXPECT_EQ(tune::parse_store(read_file(file))->entries.size(), entries);
  const Json written = Json::parse(read_file(json));
  EXPECT_EQ(written["entries"].size(), entries);
  EXPECT_EQ(written["finished"], false);
  EXPECT_EQ(written["left"].back()["why"], "interrupted");
}

TEST_F(Tune, OfAModelSaysTheEffectOnDecoding) {
  const std::string model = folder_.file("model.gguf");
  ASSERT_EQ(run({"synth", "-o", model}).code, ok);
  const std::string file = folder_.file("tune.json");
  const Finished result = tune({model, "--format", "q4_K,q8_0", "--tokens", "1", "--json", file, "--budget", "20"});
  ASSERT_EQ(result.code, ok) << result.err;
  EXPECT_NE(result.out.find("the effect on decoding"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("left out of it: "), std::string::npos);
  const Json json = Json::parse(read_file(file));
  ASSERT_EQ(json["decoding"].size(), 1U);
  double sum = 0;
  for (const Json& entry : json["entries"]) {
    sum += entry["passes"].get<double>() * entry["default"]["cold_us"].get<double>() / 1e3;
  }
  EXPECT_NEAR(json["decoding"][0]["default_ms"], sum, 1e-6 * sum);
  EXPECT_NEAR(json["decoding"][0]["ratio"], 1, 0.9);
}

TEST_F(Tune, AuditSaysWhatWasMeasuredAndWhatWasNot) {
  const std::string model = folder_.file("model.gguf");
  ASSERT_EQ(run({"synth", "-o", model}).code, ok);
  const std::string file = folder_.file("audit.json");
  const Finished before = go({"lab", "audit", model, "--tokens", "1"});
  ASSERT_EQ(before.code, ok) << before.err;
  EXPECT_NE(before.out.find("nothing was tuned here yet"), std::string::npos) << before.out;
  EXPECT_NE(before.out.find("nobody measured"), std::string::npos);
  ASSERT_EQ(tune({model, "--format", "q4_K", "--tokens", "1", "--budget", "20"}).code, ok);
  const Finished after = go({"lab", "audit", model, "--tokens", "1", "--json", file});
  ASSERT_EQ(after.code, ok) << after.err;
  const Json json = Json::parse(read_file(file));
  std::size_t unmeasured = 0;
  for (const Json& entry : json["entries"]) {
    EXPECT_EQ(entry["measured"], entry["format"] == "q4_K") << entry;
    if (!entry["measured"].get<bool>()) ++unmeasured;
    const std::string why = entry["why"];
    EXPECT_NE(why.find(entry["measured"].get<bool>() ? "measured here" : "nobody measured"), std::string::npos) << why;
  }
  EXPECT_EQ(json["unmeasured"], unmeasured);
  write_file(store(), "{}");
  const Finished damaged = go({"lab", "audit", model, "--tokens", "1"});
  EXPECT_NE(damaged.out.find("results are ignored"), std::string::npos) << damaged.out;
}

TEST_F(Tune, LabComparesNamedTiles) {
  const std::string file = folder_.file("lab.json");
  const std::vector<std::string> small{"--bytes", "1000000", "--timing", "0.0001", "--layout", "raw", "--json", file};
  const Finished result = lab(with({"tiles", "q4_K", "512", "96", "2", "default", "scalar", "scalar:parts=2"}, small));
  ASSERT_EQ(result.code, ok) << result.err;
  const Json json = Json::parse(read_file(file));
  EXPECT_EQ(json["kind"], "lab tiles");
  ASSERT_EQ(json["tiles"].size(), 3U);
  EXPECT_EQ(json["tiles"][1]["tile"], "scalar");
  EXPECT_GT(json["tiles"][1]["us"], 0);
  EXPECT_EQ(json["verified_values"], 3 * 96 * 2);
  EXPECT_TRUE(json["beside"].is_null());

  const Finished beside = lab(with({"tiles", "q4_K", "512", "96", "1", "scalar", "--beside", "q8_0,256"}, small));
  ASSERT_EQ(beside.code, ok) << beside.err;
  EXPECT_EQ(Json::parse(read_file(file))["beside"], "q8_0 512x256");
  EXPECT_EQ(Json::parse(read_file(file))["tiles"].size(), 2U) << "one tile is held against the default";
}

TEST_F(Tune, LabComparesOneCallWithOneEach) {
  const std::string file = folder_.file("lab.json");
  const Finished result = lab({"cat", "q4_K", "512", "2", "96", "32", "17", "--bytes", "1000000", "--timing", "0.0001",
                               "--threads", "3", "--json", file});
  ASSERT_EQ(result.code, ok) << result.err;
  const Json json = Json::parse(read_file(file));
  EXPECT_EQ(json["verified_values"], 2 * (96 + 32 + 17) * 2);
  ASSERT_EQ(json["tiles"].size(), 2U);
  EXPECT_GT(json["tiles"][1]["ratio"], 0);
}

TEST_F(Tune, RefusesWhatCantBe) {
  const auto refused = [&](std::vector<std::string> words, int code, const std::string& says) {
    const Finished result = go(words);
    EXPECT_EQ(result.code, code) << words[1] << ": " << result.err;
    EXPECT_NE(result.err.find(says), std::string::npos) << result.err;
  };
  refused({"tune", "--shape", "511x96"}, usage, "don't divide");
  refused({"tune", "--keep-nothing", "--store", "x"}, usage, "--store");
  refused({"tune", "--device", "cuda:99"}, unsupported, "there is no device");
  refused({"lab", "nothing", "x"}, usage, "nothing");
  refused({"lab", "tiles", "q4_K", "512"}, usage, "TYPE K ROWS TOKENS TILE");
  refused({"lab", "tiles", "q4_K", "512", "96", "1", "nobody"}, unsupported, "called 'nobody'");
  refused({"lab", "tiles", "q4_K", "512", "96", "1", "scalar:ahead=x", "--layout", "raw"}, usage, "is no tile");
  refused({"lab", "tiles", "q4_K", "512", "96", "1", "scalar:ahead=64", "--layout", "raw"}, unsupported, "distance");
  refused({"lab", "tiles", "q4_K", "512", "96", "1", "default", "--beside", "q8_0"}, usage, "TYPE,ROWS");
  refused({"lab", "cat", "q4_K", "512", "1", "96"}, usage, "ROWS ROWS");
  refused({"lab", "cat", "q4_K", "512", "1", "96", "32", "--beside", "q8_0,5"}, usage, "--beside");
  refused({"lab", "split", "q4_K", "512", "96", "1"}, unsupported, "no parts of K to choose");
  refused({"lab", "audit", "/nowhere.gguf"}, input, "nowhere");
}

}  // namespace
}  // namespace lanewise::program_test
