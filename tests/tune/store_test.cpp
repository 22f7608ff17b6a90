// Tiles as words, stores as files, and what select() makes of them.
#include "tune/store.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "backends/cpu/cpu.h"
#include "tune/json.h"

namespace lanewise::tune::test {
namespace {

TEST(Json, ReadsWhatTheStandardAllows) {
  const auto value = parse_json(R"( {"a": [1, -2.5e3, true, false, null, "x\n\"A\u00e9\ud83d\ude00"], "b": {}} )");
  ASSERT_TRUE(value) << value.error().message;
  const JsonValue::Array& list = *value->find("a")->as_array();
  EXPECT_EQ(list[0].as_unsigned(), 1U);
  EXPECT_EQ(list[1].as_number(), -2500);
  EXPECT_EQ(list[1].as_unsigned(), std::nullopt);
  EXPECT_EQ(list[2].as_bool(), true);
  EXPECT_EQ(list[3].as_bool(), false);
  EXPECT_EQ(*list[5].as_string(), "x\n\"A\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_TRUE(value->find("b")->as_object()->empty());
  EXPECT_EQ(value->find("c"), nullptr);
  EXPECT_EQ(list[0].find("c"), nullptr);
}

TEST(Json, RefusesEverythingElse) {
  for (const char* text :
       {"",        "{",         "[1,]",        "{\"a\":1,}",  "{\"a\" 1}", "{a:1}", "01",
        "1.",      ".5",        "1e",          "-",           "+1",        "nul",   "\"",
        "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "\"a\nb\"",  "[1] 2", "{\"a\":1,\"a\":2}",
        "1e999",   "NaN",       "'a'"}) {
    const auto value = parse_json(text);
    EXPECT_FALSE(value) << text;
    if (!value) {
      EXPECT_LE(value.error().offset, std::string_view(text).size()) << text;
    }
  }
  EXPECT_FALSE(parse_json(std::string(100, '[') + std::string(100, ']')));
  EXPECT_TRUE(parse_json(std::string(20, '[') + std::string(20, ']')));
}

TEST(Json, WritesStringsThatItReads) {
  const std::string text = "a\"b\\c\n\x01 \xC3\xA9";
  const auto value = parse_json(json_string(text));
  ASSERT_TRUE(value);
  EXPECT_EQ(*value->as_string(), text);
}

TEST(Tile, IsAWordThereAndBack) {
  const Setting settings[] = {{},         {{2, 1, 8, 4}, 0, 0}, {{}, 8192, 0},
                              {{}, 0, 3}, {{}, 4096, 16},       {{0, 0, 4, 0}, 0, 0}};
  for (const Setting& setting : settings) {
    const auto parsed = parse_tile(tile_text("avx512", setting));
    ASSERT_TRUE(parsed) << tile_text("avx512", setting);
    EXPECT_EQ(parsed->kernel, "avx512");
    EXPECT_EQ(parsed->setting, setting);
  }
  EXPECT_EQ(tile_text("mma", {{2, 1, 8, 4}, 0, 0}), "mma:tile=2/1/8/4");
  for (const char* text : {"", ":", "a:", "a:ahead", "a:ahead=", "a:ahead=x", "a:ahead=0", "a:ahead=64:ahead=64",
                           "a:parts=-1", "a:tile=1/2/3", "a:tile=1/2/3/4/5", "a:tile=1/2/3/", "a:b=1", "a::parts=1"}) {
    EXPECT_FALSE(parse_tile(text)) << text;
  }
}

TEST(Tile, IsRefusedWhereAKernelHasNoSuchSetting) {
  const KernelDesc* const scalar = find_kernel({Format::Q4_K, 16, 256, 1, Planes::x16, Layout::raw}, "cpu", CAP_NONE);
  EXPECT_TRUE(check_setting(*scalar, {{}, 0, 4}, nullptr));
  EXPECT_FALSE(check_setting(*scalar, {{}, 4096, 0}, nullptr)) << "it prefetches nothing";
  EXPECT_FALSE(check_setting(*scalar, {{1, 0, 0, 0}, 0, 0}, nullptr));
  EXPECT_FALSE(check_setting(*scalar, {{}, 0, 100000}, nullptr));
  const Problem packed{Format::Q4_K, 16, 256, 1, Planes::x16, Layout::rows16};
  if (const KernelDesc* const kernel = find_kernel(packed, "cpu", cpu_capabilities())) {
    EXPECT_TRUE(check_setting(*kernel, {{}, 4096, 0}, nullptr));
    EXPECT_FALSE(check_setting(*kernel, {{}, 4097, 0}, nullptr));
    EXPECT_FALSE(check_setting(*kernel, {{}, most_ahead + 64, 0}, nullptr));
  }
}

Store some_store() {
  Store store;
  store.fingerprint = {"cpu", "A \"processor\"", "scalar avx2", "0123456789abcdef", 2};
  store.put({{Format::Q4_K, 4096, 14336, Planes::x16, Layout::raw, 2, 1},
             "scalar:parts=4",
             "scalar",
             100.5,
             90.25,
             0.898,
             45,
             3,
             "2026-11-30"});
  store.put({{Format::Q4_K, 4096, 14336, Planes::x16, Layout::raw, 2, 4},
             "scalar",
             "scalar",
             400,
             400,
             1,
             45,
             0,
             "2026-11-30"});
  store.put({{Format::F16, 64, 256, Planes::x16, Layout::raw, 2, 1}, "scalar", "scalar", 3, 3, 1, 45, 0, "2026-11-30"});
  return store;
}

TEST(Store, IsAFileThereAndBack) {
  const Store store = some_store();
  const auto read = parse_store(store_text(store));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, store);
  const Store empty{store.fingerprint, {}};
  EXPECT_EQ(*parse_store(store_text(empty)), empty);
}

TEST(Store, OneEntryAKey) {
  Store store = some_store();
  StoreEntry again = store.entries[0];
  again.tile = "scalar:parts=8";
  store.put(again);
  EXPECT_EQ(store.entries.size(), 3U);
  EXPECT_EQ(store.entries[0].tile, "scalar:parts=8");
  store.entries.push_back(again);
  EXPECT_FALSE(parse_store(store_text(store)));
}

TEST(Store, EveryPrefixAndEveryMissingWordIsRefused) {
  const std::string text = store_text(some_store());
  const std::size_t whole = text.size() - 1;  // the newline at its end is no loss
  for (std::size_t length = 0; length < whole; ++length) {
    EXPECT_FALSE(parse_store(text.substr(0, length))) << length;
  }
  const auto without = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return changed.replace(at, from.size(), to);
  };
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"\"lanewise tuning\"", "\"else\""},
                                                                                 {"\"version\": 1", "\"version\": 2"},
                                                                                 {"\"q4_K\"", "\"q4_X\""},
                                                                                 {"14336", "14337"},
                                                                                 {"\"tokens\": 1", "\"tokens\": 0"},
                                                                                 {"\"x16\"", "\"x17\""},
                                                                                 {"\"raw\"", "\"row\""},
                                                                                 {"scalar:parts=4", "scalar:parts=x"},
                                                                                 {"90.25", "-1"},
                                                                                 {"90.25", "\"90\""},
                                                                                 {"\"ratio\": 0.898, ", ""},
                                                                                 {"\"rounds\": 45", "\"rounds\": 1e12"},
                                                                                 {"\"date\"", "\"day\""},
                                                                                 {"\"backend\"", "\"back\""}}) {
    EXPECT_FALSE(parse_store(without(from, to))) << from;
  }
}

TEST(Store, LiesInTheCacheOrNowhere) {
  const Fingerprint of{"cuda", "NVIDIA H200", "", "", 132};
  const auto set = [](const char* name, const char* value) { ::setenv(name, value, 1); };
  const char* const home = std::getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  set("XDG_CACHE_HOME", "/somewhere");
  EXPECT_EQ(*store_path(of), "/somewhere/lanewise/tuning-cuda-nvidia-h200.json");
  set("XDG_CACHE_HOME", "relative");
  set("HOME", "/me");
  EXPECT_EQ(*store_path(of), "/me/.cache/lanewise/tuning-cuda-nvidia-h200.json");
  set("HOME", "");
  EXPECT_EQ(store_path(of).error().code, LW_ERROR_NOT_FOUND);
  set("HOME", before.c_str());
  ::unsetenv("XDG_CACHE_HOME");
}

TEST(Store, SaysWhatItIsNotOf) {
  const Fingerprint here{"cpu", "P", "avx2", "1", 2};
  EXPECT_EQ(difference(here, here), "");
  const auto changed = [&](auto change) {
    Fingerprint other = here;
    change(other);
    return difference(other, here);
  };
  EXPECT_NE(changed([](Fingerprint& f) { f.device = "Q"; }).find("made on 'Q'"), std::string::npos);
  EXPECT_NE(changed([](Fingerprint& f) { f.driver = "avx"; }).find("instruction sets"), std::string::npos);
  EXPECT_NE(changed([](Fingerprint& f) { f.kernels = "2"; }).find("kernels '2'"), std::string::npos);
  EXPECT_NE(changed([](Fingerprint& f) { f.processors = 3; }), "");
  EXPECT_NE(changed([](Fingerprint& f) { f.backend = "cuda"; }), "");
}

TEST(Tuning, IsTakenBySelectForItsShapeAlone) {
  Store store = some_store();
  std::vector<std::string> ignored;
  Tuning tuning;
  overlay(store, "measured here", nullptr, CAP_NONE, tuning, ignored);
  EXPECT_TRUE(ignored.empty()) << ignored.front();
  ASSERT_EQ(tuning.size(), 3U);
  Problem problem{Format::Q4_K, 4096, 14336, 1, Planes::x16, Layout::raw};
  const auto plan = [&](std::uint32_t threads = 2, std::string_view by_name = {}) {
    auto made = select(problem, "cpu", CAP_NONE, by_name, {&tuning, threads});
    EXPECT_TRUE(made);
    return *made;
  };
  EXPECT_EQ(plan().setting.parts, 4U);
  EXPECT_NE(plan().why.find("tuned on A \"processor\", 2026-11-30, 10.2 % less time than the default (measured here)"),
            std::string::npos)
      << plan().why;
  for (const std::uint64_t tokens : {2U, 3U, 4U, 5U, 8U, 100U}) {
    problem.tokens = tokens;
    EXPECT_EQ(plan().setting.parts, 0U) << "the entry of four tokens";
    EXPECT_NE(plan().why.find("nothing beat it"), std::string::npos);
  }
  problem.tokens = 1;
  EXPECT_TRUE(plan(2, "scalar").setting.is_default()) << "asked for by name";
  EXPECT_NE(plan(3).why.find("nobody measured"), std::string::npos) << "other threads";
  problem.planes = Planes::x8;
  EXPECT_NE(plan().why.find("nobody measured"), std::string::npos);
  problem.planes = Planes::x16;
  problem.rows = 4097;
  EXPECT_EQ(plan().tuned, nullptr);
  EXPECT_NE(plan().why.find("nobody measured"), std::string::npos);
  problem = {Format::F16, 64, 256, 1, Planes::x8, Layout::raw};
  EXPECT_NE(plan().tuned, nullptr) << "float weights don't look at the planes";
}

TEST(Tuning, IgnoresWhatThisDeviceCantDoWithALine) {
  Store store = some_store();
  store.entries[0].tile = "avx512:parts=4";
  store.entries[1].tile = "nothing";
  store.entries[2].tile = "scalar:ahead=64";
  std::vector<std::string> ignored;
  Tuning tuning;
  overlay(store, "measured here", nullptr, CAP_NONE, tuning, ignored);
  EXPECT_EQ(tuning.size(), 0U);
  EXPECT_EQ(ignored.size(), 3U);
}

TEST(Tuning, OfAKernelThatIsntHereIsNotTaken) {
  if ((cpu_capabilities() & CAP_AVX2) == 0) GTEST_SKIP() << "no such kernel here";
  Store store = some_store();
  store.entries.resize(1);
  store.entries[0].tile = "avx2";
  std::vector<std::string> ignored;
  Tuning tuning;
  overlay(store, "measured here", nullptr, CAP_AVX2, tuning, ignored);
  ASSERT_EQ(tuning.size(), 1U);
  const Problem problem{Format::Q4_K, 4096, 14336, 1, Planes::x16, Layout::raw};
  EXPECT_EQ(choose(problem, "cpu", CAP_AVX2, {}, {&tuning, 2}).kernel->name, "avx2");
  EXPECT_EQ(choose(problem, "cpu", CAP_NONE, {}, {&tuning, 2}).kernel->name, "scalar");
}

TEST(Shipped, FilesAreSoundAndOfOneDeviceEach) {
  std::vector<std::string> seen;
  for (const Shipped& each : shipped_stores()) {
    const auto store = parse_store(each.text);
    ASSERT_TRUE(store) << each.name << ": " << store.error().message;
    EXPECT_EQ(each.name, slug(store->fingerprint) + ".json");
    EXPECT_FALSE(store->entries.empty()) << each.name;
    for (const StoreEntry& entry : store->entries) {
      const auto tile = parse_tile(entry.tile);
      ASSERT_TRUE(tile);
      const auto kernel =
          kernel_called(tile->kernel, entry.key.format, entry.key.layout, store->fingerprint.backend, ~0U, nullptr);
      // In a build without that backend's units the kernel is known but not built.
      if (!kernel) {
        EXPECT_EQ(kernel.error().code, LW_ERROR_UNSUPPORTED) << each.name << ": " << entry.tile;
      }
    }
  }
}

}  // namespace
}  // namespace lanewise::tune::test
