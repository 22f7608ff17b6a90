// The report's parts one by one, and the page as a whole on folders that are good, damaged and foreign.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "json.h"
#include "program/process.h"
#include "report/colour.h"
#include "report/data.h"
#include "report/page.h"
#include "report/scale.h"
#include "report/text.h"

namespace lanewise::program::report {
namespace {

TEST(ReportText, EscapesEverythingThatHtmlReads) {
  EXPECT_EQ(escape("<a href=\"x\" b='y'>&amp;"), "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;");
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(escape(std::string("a\0b\x1B[31m\x7F", 9)), "a" + mark + "b" + mark + "[31m" + mark);
  EXPECT_EQ(escape("\xE2\x80\xAE|\xE2\x81\xA6|\xC2\x85"), mark + "|" + mark + "|" + mark);  // direction, next line
  EXPECT_EQ(escape("K\xC3\xB6ln \xE4\xB8\xAD"), "K\xC3\xB6ln \xE4\xB8\xAD");
  EXPECT_EQ(escape("\xC3("), mark + "(");
  EXPECT_EQ(escape("\xF0\x9F\x98"), mark + mark + mark);
}

TEST(ReportText, WritesFigures) {
  EXPECT_EQ(figure(0), "0");
  EXPECT_EQ(figure(1234567), "1,234,567");
  EXPECT_EQ(figure(12.345), "12.3");
  EXPECT_EQ(figure(9.999), "10.0");
  EXPECT_EQ(figure(0.00123), "0.00123");
  EXPECT_EQ(figure(1.234e-7), "1.2e-7");
  EXPECT_EQ(figure(-1500), "-1,500");
  EXPECT_EQ(figure(std::numeric_limits<double>::quiet_NaN()), "-");
  EXPECT_EQ(figure(std::numeric_limits<double>::infinity()), "-");
  EXPECT_EQ(count(80693611), "80,693,611");
  EXPECT_EQ(count(2.5), "2.5");
  EXPECT_EQ(count(-1234.5), "-1,234.5");
  EXPECT_EQ(tokens_text(1), "1 token");
  EXPECT_EQ(tokens_text(8), "8 tokens");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(999.7), "1.00 kB");
  EXPECT_EQ(bytes_text(1.3e9), "1.30 GB");
  EXPECT_EQ(us_text(0.25), "250 ns");
  EXPECT_EQ(us_text(999.9), "1.00 ms");
  EXPECT_EQ(us_text(2.5e6), "2.50 s");
  EXPECT_EQ(percent_text(0.614), "61.4 %");
  EXPECT_EQ(trimmed("20.0 %"), "20 %");
  EXPECT_EQ(trimmed("1.50 MB"), "1.5 MB");
  EXPECT_EQ(trimmed("100"), "100");
  EXPECT_EQ(trimmed("0.10"), "0.1");
}

TEST(ReportText, CutsAtTheStart) {
  EXPECT_EQ(cut_to("short", 12, 500), "short");
  const std::string cut = cut_to("a/very/long/path/model-q4.gguf", 12, 80);
  EXPECT_TRUE(cut.starts_with("\xE2\x80\xA6")) << cut;
  EXPECT_TRUE(cut.ends_with(".gguf")) << cut;
  EXPECT_LE(text_width(cut, 12), 80);
}

const auto plain = [](double value) { return trimmed(figure(value)); };
const auto ten_a_letter = [](const std::string& label) { return 10.0 * static_cast<double>(label.size()); };

// Whatever the range and the room, labels stand apart, in order, within the range.
TEST(ReportScale, TicksNeverTouch) {
  for (const double low : {1e-9, 0.03, 0.9, 1.0, 7.0, 123.0, 5e8}) {
    for (const double over : {1.0001, 1.3, 2.0, 9.0, 40.0, 1e3, 1e7}) {
      for (const double length : {40.0, 200.0, 900.0}) {
        for (const int kind : {0, 1, 2}) {
          const Range range{low, low * over};
          const Scale scale = kind == 0   ? Scale::linear(range, 0, length)
                              : kind == 1 ? Scale::logarithmic(range, 0, length)
                                          : Scale::binary(range, length, 0);
          const auto ticks = scale.ticks(plain, ten_a_letter);
          for (std::size_t i = 0; i < ticks.size(); ++i) {
            EXPECT_GE(ticks[i].value, low * (1 - 1e-6));
            EXPECT_LE(ticks[i].value, low * over * (1 + 1e-6));
            if (i == 0) continue;
            EXPECT_GT(ticks[i].value, ticks[i - 1].value);
            EXPECT_GE(std::fabs(scale(ticks[i].value) - scale(ticks[i - 1].value)),
                      (ten_a_letter(ticks[i].label) + ten_a_letter(ticks[i - 1].label)) / 2)
                << low << " x " << over << " over " << length << ", kind " << kind << ": " << ticks[i - 1].label
                << " and " << ticks[i].label;
          }
        }
      }
    }
  }
}

TEST(ReportScale, TicksAreRoundNumbers) {
  const auto labels = [](const Scale& scale) {
    std::string all;
    for (const Tick& tick : scale.ticks(plain, ten_a_letter)) all += tick.label + " ";
    return all;
  };
  EXPECT_EQ(labels(Scale::linear({0, 1}, 0, 300)), "0 0.2 0.4 0.6 0.8 1 ");
  EXPECT_EQ(labels(Scale::logarithmic({1, 1000}, 0, 600)), "1 2 5 10 20 50 100 200 500 1,000 ");
  EXPECT_EQ(labels(Scale::logarithmic({1, 1e6}, 0, 300)), "1 100 10,000 1,000,000 ");
  EXPECT_EQ(labels(Scale::binary({1, 8}, 0, 300)), "1 2 4 8 ");
}

TEST(ReportScale, PlacesAndRanges) {
  const Scale log = Scale::logarithmic({1, 100}, 10, 30);
  EXPECT_DOUBLE_EQ(log(10), 20);
  EXPECT_DOUBLE_EQ(log(0), 10);    // no place: the low end
  EXPECT_DOUBLE_EQ(log(1e9), 30);  // held at the end
  EXPECT_DOUBLE_EQ(Scale::linear({0, 4}, 8, 0)(1), 6);
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> empty, one{5}, mixed{none, -3, 0, 2, 8};
  EXPECT_LT(Range::linear(empty).low, Range::linear(empty).high);
  EXPECT_LT(Range::linear(one).low, Range::linear(one).high);
  EXPECT_LT(Range::logarithmic(one).low, Range::logarithmic(one).high);
  EXPECT_EQ(Range::logarithmic(mixed).low, 2);
  EXPECT_EQ(Range::linear(mixed).low, -3);
}

TEST(ReportScale, LabelsAreSpread) {
  const std::vector<double> wanted{50, 10, 52, 51, 200};
  const auto placed = spread_labels(wanted, 10, 0, 200);
  std::vector<double> sorted = placed;
  std::ranges::sort(sorted);
  for (std::size_t i = 1; i < sorted.size(); ++i) EXPECT_GE(sorted[i] - sorted[i - 1], 10 - 1e-9);
  EXPECT_NEAR(placed[1], 10, 1e-9);  // with room enough it stays
  EXPECT_NEAR(placed[4], 200, 1e-9);
  EXPECT_LT(placed[0], placed[3]);  // the order is kept
  EXPECT_LT(placed[3], placed[2]);
  for (const double place : spread_labels(std::vector<double>(50, 7.0), 10, 0, 100)) {
    EXPECT_GE(place, 0);
    EXPECT_LE(place, 100 + 1e-9);
  }
}

TEST(ReportColour, IsOrderedByLightnessAndCanBeReadOn) {
  const auto channel = [](const std::string& colour, std::size_t at) {
    return std::stoi(colour.substr(at, 2), nullptr, 16);
  };
  double before = -1;
  for (int i = 0; i <= 20; ++i) {
    const std::string colour = heat_colour(i / 20.0);
    const double light = 0.3 * channel(colour, 1) + 0.6 * channel(colour, 3) + 0.1 * channel(colour, 5);
    EXPECT_GT(light, before) << colour;
    before = light;
  }
  EXPECT_EQ(heat_ink(0), "on-dark");
  EXPECT_EQ(heat_ink(1), "on-light");
  EXPECT_EQ(heat_colour(std::numeric_limits<double>::quiet_NaN()), heat_colour(0));
}

TEST(ReportJson, SaysWhereItEnds) {
  EXPECT_EQ(parse_json(R"({"a":[1,-2,2.5,true,null,"x"],"a":{"b":7}})")->find("a")->find("b")->as_number(), 7);
  EXPECT_EQ(parse_json(R"({"a": [1, 2,, 3]})").error().offset, 12U);
  EXPECT_FALSE(parse_json("").ok());
  EXPECT_FALSE(parse_json("{} {}").ok());
  EXPECT_FALSE(parse_json("[1e999]").ok());
  EXPECT_FALSE(parse_json("\"\xC3(\"").ok());
  EXPECT_TRUE(parse_json(std::string(100, '[') + std::string(100, ']')).ok());
  const auto deep = parse_json(std::string(200000, '['));
  ASSERT_FALSE(deep.ok());
  EXPECT_NE(deep.error().message.find("100 levels"), std::string::npos) << deep.error().message;
  const auto number = parse_json("[18446744073709551615, 0.1]");
  EXPECT_EQ(number->dump(), "[18446744073709551615,0.1]");
}

// Of every prefix of a document, and with every byte turned into another, there is a document or an error.
TEST(ReportJson, DamageIsSurvived) {
  const std::string whole =
      R"({"kind":"tune","device":"cpu","entries":[{"format":"q4_K","rows":64,"cols":256,"tokens":1,
    "default":{"tile":"a","cold_us":2},"chosen":{"tile":"b","cold_us":1},"won":true,"ratio":0.5}]})";
  ASSERT_TRUE(parse_json(whole).ok());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_FALSE(parse_json(whole.substr(0, i)).ok()) << i;
    for (const char with : {'\0', '"', '{', ']', '9', '\xFF', '-'}) {
      std::string damaged = whole;
      damaged[i] = with;
      if (const auto document = parse_json(damaged)) {
        Material material;
        add_document(material, "x.json", *document);
        (void)page_html(material, "x");
      }
    }
  }
}

std::string bench_json(const std::string& format, const std::string& device) {
  std::string cases;
  for (const char* tokens : {"1", "4"}) {
    cases +=
        fmt::format(R"({{"format":"{}","rows":64,"cols":256,"tokens":{},"device":"{}","kernel":"cpu.k","layout":"raw",)"
                    R"("activation":"x16","cold":true,"median_us":{}.5,"bytes":9216,"ceiling_gbps":10,"peer_us":3,)"
                    R"("peer_over_ours":2.0,"spread":0.01,"fraction":0.6}},)",
                    format, tokens, device, tokens);
  }
  cases.pop_back();
  return R"({"machine":{"cpu":")" + device + R"("},"ceiling_gbps":10,"peer":{"name":"other","version":"7"},"cases":[)" +
         cases + R"(,{"format":"q4_0"}],"notes":["a <note>"]})";
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t number = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++number;
  return number;
}

void expect_balanced(const std::string& page) {
  for (const std::string tag : {"svg", "figure", "section", "table", "details", "text", "title", "desc", "div", "ul"}) {
    EXPECT_EQ(occurrences(page, fmt::format("<{}>", tag)) + occurrences(page, fmt::format("<{} ", tag)),
              occurrences(page, fmt::format("</{}>", tag)))
        << tag;
  }
}

TEST(ReportPage, HasAPictureForEachKindOfFigure) {
  Material material;
  add_document(material, "bench.json", *parse_json(bench_json("q4_K", "a processor")));
  add_document(material, "verify.json", *parse_json(R"({"device":"cpu","source":null,"complete":true,"total":{"cases":2,
    "passed":2,"values_compared":1234},"formats":{"q4_K":{"cases":2,"passed":2}},"verdicts":[
    {"problem":"gemv:q4_K:256x5:tokens=1:act=x8","verdict":"passed","float64":{"worst_ratio":0.5,"worst_relative":1e-3}},
    {"problem":"gemv:q4_K:256x5:tokens=8:act=x24","verdict":"passed","float64":{"worst_ratio":0.5,"worst_relative":1e-8}},
    {"problem":"no problem","verdict":"passed"}]})"));
  add_document(material, "tune.json",
               *parse_json(R"({"kind":"tune","device":"cpu","fingerprint":{"device":"a processor"},
    "finished":false,"entries":[{"format":"q4_K","rows":64,"cols":256,"tokens":1,"default":{"tile":"a","cold_us":2},
    "chosen":{"tile":"b:ahead=1","cold_us":1.9},"won":true,"ratio":0.95,"ratio_low":0.94,"ratio_high":0.96}],
    "left":[{}],"decoding":[{"tokens":1,"default_ms":2,"tuned_ms":1.9,"ratio":0.95}],"leaves_out":"attention"})"));
  add_document(material, "compare.json",
               *parse_json(R"({"kind":"compare","x":{"what":"Gaussian"},"reference":{"file":"r.gguf",
    "bytes":100,"matrices":[]},"files":[
    {"file":"a.gguf","format":"q4_K","bytes":50,"bits_per_weight":4.5,"output_error":0.07,"us":[{"tokens":1,"us":10}],
     "matrices":[{"name":"blk.0.q.weight","format":"q4_K","outputs":{"relative_rms":0.06}},
                 {"name":"blk.1.q.weight","format":"q4_K","outputs":{"relative_rms":0.08}}]},
    {"file":"b.gguf","format":"q8_0","bytes":90,"bits_per_weight":8.5,"output_error":0.005,"us":[{"tokens":1,"us":20}]},
    {"file":"worse.gguf","format":"q8_0","bytes":95,"bits_per_weight":8.5,"output_error":0.05,"us":[{"tokens":1,"us":30}]}]})"));
  ASSERT_EQ(material.files.size(), 4U);
  const std::string page = page_html(material, "A <title>");
  for (const char* id : {"bench-1-roofline", "bench-1-windows", "bench-1-heat", "bench-1-peer", "verify-1-accuracy",
                         "tune-1-tuning", "compare-1-pareto", "compare-1-tensors"}) {
    EXPECT_EQ(occurrences(page, std::string("<figure id=\"") + id + "\">"), 1U) << id;
    for (const char* size : {"-w", "-n"}) {
      EXPECT_EQ(occurrences(page, std::string("aria-labelledby=\"") + id + size + "-t "), 1U) << id << size;
    }
  }
  EXPECT_EQ(occurrences(page, "<svg "), 16U);
  expect_balanced(page);
  EXPECT_NE(page.find("<h1>A &lt;title&gt;</h1>"), std::string::npos);
  EXPECT_NE(page.find("a &lt;note&gt;"), std::string::npos);
  EXPECT_NE(page.find("Beside other 7"), std::string::npos);
  EXPECT_NE(page.find("1 entries of bench.json could not be read"), std::string::npos);
  EXPECT_NE(page.find("1 entries of verify.json could not be read"), std::string::npos);
  EXPECT_NE(page.find("Tuning ended before its last entry. 1 entries weren&#39;t tuned."), std::string::npos);
  EXPECT_NE(page.find("blk.*.q.weight in a: median 7.00 % of 2, worst 8.00 % in blk.1.q.weight (q4_K)"),
            std::string::npos);
  EXPECT_EQ(occurrences(page, "mark s5 hollow"), 4U);  // worse.gguf, by size and by time, in two sizes
  EXPECT_EQ(page_html(material, "A <title>"), page);
  // Nothing is loaded, nothing runs.
  for (const char* word : {"<script", "javascript:", "http:", "https:", "@import", "url(", "onload", "src=", "<link"}) {
    EXPECT_EQ(page.find(word), std::string::npos) << word;
  }
}

TEST(ReportPage, NamesAreEscapedWhereverTheyStand) {
  const std::string evil = "\\\"><script>alert(1)</script><x y='";
  Material material;
  add_document(material, "<b>.json", *parse_json(bench_json(evil, evil)));
  material.not_shown.emplace_back("<i>", "<u>");
  const std::string page = page_html(material, "t");
  for (const char* raw : {"<script", "<x ", "<i>", "<u>", "<b>.json"})
    EXPECT_EQ(page.find(raw), std::string::npos) << raw;
  EXPECT_NE(page.find("&lt;script&gt;"), std::string::npos);
  expect_balanced(page);
}

}  // namespace
}  // namespace lanewise::program::report

namespace lanewise::program_test {
namespace {

TEST(ReportCommand, TakesWhatItKnowsAndNamesTheRest) {
  Directory directory;
  write_file(directory.file("bench.json"), program::report::bench_json("q4_K", "a processor"));
  write_file(directory.file("cut.json"), "{\"cases\": [");
  write_file(directory.file("empty.json"), "");
  write_file(directory.file("foreign.json"), "{\"name\": \"package\", \"version\": 1}");
  write_file(directory.file("notes.txt"), "no JSON");
  const std::string folder = directory.file("");
  const Finished made = run({"report", folder});
  ASSERT_EQ(made.code, ok) << made.err;
  EXPECT_NE(made.out.find("from 1 file\n"), std::string::npos) << made.out;
  EXPECT_NE(made.err.find("'cut.json' is not shown: no JSON from here on (byte 11)"), std::string::npos) << made.err;
  EXPECT_NE(made.err.find("'empty.json' is not shown: empty"), std::string::npos) << made.err;
  EXPECT_NE(made.err.find("'foreign.json' is not shown: JSON, but not of verify"), std::string::npos) << made.err;
  EXPECT_EQ(made.err.find("notes.txt"), std::string::npos);
  const std::string page = read_file(directory.file("report.html"));
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  for (const char* name : {"cut.json", "empty.json", "foreign.json"})
    EXPECT_NE(page.find(name), std::string::npos) << name;
  EXPECT_EQ(run({"report", folder, "-o", "-"}).out, page);
  EXPECT_EQ(run({"report", folder, "--title", "Another"}).code, ok);
  EXPECT_NE(read_file(directory.file("report.html")).find("<h1>Another</h1>"), std::string::npos);

  const Finished over = run({"report", folder, "-o", directory.file("bench.json")});
  EXPECT_NE(over.code, ok);
  EXPECT_EQ(run({"report", directory.file("gone")}).code, input);
  EXPECT_EQ(run({"report"}).code, usage);
  const Directory other;
  write_file(other.file("foreign.json"), "[]");
  const Finished nothing = run({"report", other.file("")});
  EXPECT_EQ(nothing.code, input);
  EXPECT_NE(nothing.err.find("holds no JSON of verify, bench, tune or compare"), std::string::npos) << nothing.err;
}

// What the commands write is what the report reads.
TEST(ReportCommand, ReadsWhatTheCommandsWrite) {
  Directory directory;
  const std::string model = directory.file("m.gguf");
  const std::string other = directory.file("n.gguf");
  ASSERT_EQ(run({"synth", "-o", model}).code, ok);
  ASSERT_EQ(run({"synth", "-o", other, "--seed", "2"}).code, ok);
  ASSERT_EQ(run({"bench", "--format", "q4_K,q8_0", "--shape", "256x64", "--tokens", "1,2", "--rounds", "1", "--bytes",
                 "1000000", "--json", directory.file("bench.json")})
                .code,
            ok);
  ASSERT_EQ(run({"verify", "--format", "q4_K", "--json", directory.file("verify.json")}).code, ok);
  ASSERT_EQ(run({"compare", model, other, "--tensor", "^q[48]_", "--rounds", "1", "--bytes", "100000", "--json",
                 directory.file("compare.json")})
                .code,
            ok);
  const Finished made = run({"report", directory.file("")});
  ASSERT_EQ(made.code, ok) << made.err;
  EXPECT_EQ(made.err, "");
  const std::string page = read_file(directory.file("report.html"));
  for (const char* id : {"bench-1-roofline", "bench-1-windows", "bench-1-heat", "verify-1-accuracy", "compare-1-pareto",
                         "compare-1-tensors"}) {
    EXPECT_NE(page.find(std::string("<figure id=\"") + id + "\">"), std::string::npos) << id;
  }
  EXPECT_EQ(page.find("could not be read"), std::string::npos);
  // The command that made each file, as it was given.
  EXPECT_NE(page.find("lanewise verify --format q4_K --json "), std::string::npos);
  EXPECT_NE(page.find("--tensor &#39;^q[48]_&#39;"), std::string::npos);
}

}  // namespace
}  // namespace lanewise::program_test
