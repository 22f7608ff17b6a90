#include "report/page.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/html.h"
#include "report/plots.h"
#include "report/text.h"

namespace lanewise::program::report {
namespace {

struct Tile {
  std::string value, about, css;
};

struct Section {
  std::string id, title, body;
};

std::string tiles_html(const std::vector<Tile>& tiles) {
  if (tiles.empty()) return {};
  std::string out = "<ul class=\"tiles\">\n";
  for (const Tile& tile : tiles) {
    out += fmt::format("<li><b class=\"{}\">{}</b><span>{}</span></li>\n", tile.css, escape(tile.value),
                       escape(tile.about));
  }
  return out + "</ul>\n";
}

std::string facts_html(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string out = "<dl class=\"facts\">\n";
  for (const auto& [what, value] : facts) {
    if (!value.empty()) out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape(what), escape(value));
  }
  return out + "</dl>\n";
}

std::string figures_html(const std::vector<std::optional<Figure>>& figures) {
  std::string out;
  for (const auto& figure : figures) {
    if (figure) out += figure_html(*figure);
  }
  return out;
}

std::string unread_html(const Source& source) {
  if (source.unread == 0) return {};
  return note_html(fmt::format("{} entries of {} could not be read and are left out.", source.unread, source.file));
}

// What the run's cases say was asked for, where the file doesn't hold the command itself.
std::string command_of(const BenchRun& run) {
  if (!run.command.empty()) return run.command;
  std::vector<std::string> shapes;
  std::vector<double> windows;
  std::vector<const BenchCase*> cases;
  for (const BenchCase& c : run.cases) {
    if (c.matrices > 1) continue;
    cases.push_back(&c);
    if (std::ranges::find(shapes, c.shape()) == shapes.end()) shapes.push_back(c.shape());
  }
  std::vector<std::string> tokens;
  for (const double window : windows_of(cases)) tokens.push_back(fmt::format("{:.0f}", window));
  return fmt::format("lanewise bench --device {} --format {} --shape {} --tokens {}", run.name,
                     fmt::join(formats_of(cases), ","), fmt::join(shapes, ","), fmt::join(tokens, ","));
}

Section bench_section(const BenchRun& run, std::size_t index) {
  const std::string id = fmt::format("bench-{}", index + 1);
  std::string body = unread_html(run);
  body += figures_html(
      {heat_map(run, id), roofline(run, id), window_curves(run, id), peer_ratios(run, id), decoding_speed(run, id)});
  const std::string what = run.name == "cpu" || run.name.empty() ? "" : fmt::format(" ({})", run.name);
  return {id, fmt::format("Speed: {}{}", run.device, what), std::move(body)};
}

Table verify_table(const VerifyRun& run) {
  Table table;
  table.heads = {"format",
                 "cases",
                 "passed",
                 "failed",
                 "mistrusted",
                 "outputs, bit for bit",
                 "weights decoded",
                 "worst error / bound",
                 "worst error / sum of |terms|"};
  for (const VerifyCounts& each : run.formats) {
    table.rows.push_back({each.what, count(each.cases), count(each.passed), count(each.failed), count(each.mistrusted),
                          count(each.outputs), count(each.weights), figure(each.worst_ratio),
                          figure(each.worst_relative)});
  }
  return table;
}

Section verify_section(const VerifyRun& run, std::size_t index) {
  const std::string id = fmt::format("verify-{}", index + 1);
  const VerifyCounts& all = run.total;
  std::string body = unread_html(run);
  body += fmt::format(
      "<p class=\"lead\">{}</p>\n",
      escape(fmt::format("{} of {} cases passed{}: every output bit for bit against the oracle, each within "
                         "the bound derived for it from float64.{}{}",
                         count(all.passed), count(all.cases), run.model.empty() ? "" : " on " + run.model,
                         all.mistrusted > 0 ? fmt::format(" {} are mistrusted.", count(all.mistrusted)) : "",
                         run.complete ? "" : " The run stopped before its end.")));
  body += figures_html({accuracy(run, id)});
  body += folded_table_html(verify_table(run), "By format");
  Table wrong;
  wrong.heads = {"verdict", "problem"};
  wrong.words = 2;
  for (const VerifyCase& c : run.cases) {
    if (c.verdict != "passed") wrong.rows.push_back({c.verdict, c.problem});
  }
  body += folded_table_html(wrong, "Cases that didn't pass");
  return {id, fmt::format("Correctness: {}", run.device.empty() ? run.file : run.device), std::move(body)};
}

Section tune_section(const TuneRun& run, std::size_t index) {
  const std::string id = fmt::format("tune-{}", index + 1);
  std::string body = unread_html(run) + figures_html({tuning_gains(run, id)});
  Table decoding;
  decoding.heads = {"tokens", "by default", "tuned", "ratio"};
  decoding.words = 0;
  for (const TunedDecoding& each : run.decoding) {
    decoding.rows.push_back(
        {count(each.tokens), us_text(each.default_ms * 1e3), us_text(each.tuned_ms * 1e3), figure(each.ratio)});
  }
  if (!decoding.rows.empty()) {
    body += "<h3>What it comes to in decoding</h3>\n";
    body += note_html(
        fmt::format("All matrices of {}, once a window. What this leaves out: {}", run.model, run.leaves_out));
    body += table_html(decoding);
  }
  return {id, fmt::format("Tuning: {}", run.device), std::move(body)};
}

Section compare_section(const CompareRun& run, std::size_t index) {
  const std::string id = fmt::format("compare-{}", index + 1);
  return {id, "Quantisations compared", unread_html(run) + figures_html({pareto(run, id), tensor_errors(run, id)})};
}

void add_source(std::string& out, const Source& source, const std::string& command, bool exact) {
  out += fmt::format("<h3>{}</h3>\n", escape(source.file));
  auto facts = source.machine;
  if (!source.commit.empty()) facts.emplace_back("commit", source.commit);
  if (!source.date.empty()) facts.emplace_back("date", source.date);
  out += facts_html(facts);
  if (!command.empty()) {
    out +=
        fmt::format("<p class=\"note\">{}</p>\n<pre><code>{}</code></pre>\n",
                    exact ? "Made by" : "The file doesn't hold its command; its cases are those of", escape(command));
  }
  for (const std::string& note : source.notes) out += note_html("Note: " + note);
}

Section machine_section(const Material& material) {
  std::string body;
  std::vector<std::string> shown;
  const auto add = [&](const Source& source, const std::string& command) {
    if (std::ranges::find(shown, source.file) != shown.end()) return;
    shown.push_back(source.file);
    add_source(body, source, command, !source.command.empty());
  };
  for (const BenchRun& run : material.bench) add(run, command_of(run));
  for (const VerifyRun& run : material.verify) add(run, run.command);
  for (const TuneRun& run : material.tune) add(run, run.command);
  for (const CompareRun& run : material.compare) add(run, run.command);
  if (!material.not_shown.empty()) {
    body += "<h3>Files that are not shown</h3>\n<ul>\n";
    for (const auto& [file, why] : material.not_shown) {
      body += fmt::format("<li><code>{}</code>: {}</li>\n", escape(file), escape(why));
    }
    body += "</ul>\n";
  }
  return {"machines", "Machines and commands", std::move(body)};
}

std::vector<Tile> tiles_of(const Material& material) {
  std::vector<Tile> tiles;
  double outputs = 0, cases = 0, failed = 0, differing = 0;
  for (const VerifyRun& run : material.verify) {
    outputs += run.total.outputs;
    cases += run.total.cases;
    failed += run.total.failed;
  }
  if (cases > 0) {
    tiles.push_back({failed > 0 ? fmt::format("{} failed", count(failed)) : "0 bits differ",
                     fmt::format("in {} outputs of {} verified cases", count(outputs), count(cases)),
                     failed > 0 ? "bad" : "good"});
  }
  for (const BenchRun& run : material.bench) {
    std::vector<double> parts;
    for (const BenchCase* c : run.cold()) {
      differing += static_cast<double>(c->outputs_differing);
      if (c->tokens == windows_of(run.cold()).front()) parts.push_back(c->floor_us / c->us);
    }
    if (!parts.empty()) {
      tiles.push_back({percent_text(median_of(parts)),
                       fmt::format("of the read floor: the median of {} products with {} on {}", parts.size(),
                                   tokens_text(windows_of(run.cold()).front()), run.device),
                       ""});
    }
    if (run.ceiling_gbps > 0) {
      tiles.push_back({figure(run.ceiling_gbps, 4) + " GB/s", "the fastest read on " + run.device, ""});
    }
  }
  if (differing > 0) tiles.push_back({count(differing), "outputs of timed products differ", "bad"});
  for (const TuneRun& run : material.tune) {
    const auto won = std::ranges::count_if(run.entries, [](const TuneEntry& each) { return each.won; });
    tiles.push_back(
        {fmt::format("{} of {}", won, run.entries.size()), "tuned entries beat the default on " + run.device, ""});
  }
  for (const CompareRun& run : material.compare) {
    const auto files = std::ranges::count_if(run.files, [](const CompareFile& file) { return !file.is_reference; });
    tiles.push_back({count(static_cast<double>(files)),
                     files == 1 ? "file compared with its reference" : "files compared with their reference", ""});
  }
  return tiles;
}

}  // namespace

std::string page_html(const Material& material, const std::string& title) {
  std::vector<Section> sections;
  for (std::size_t i = 0; i < material.bench.size(); ++i) sections.push_back(bench_section(material.bench[i], i));
  for (std::size_t i = 0; i < material.tune.size(); ++i) sections.push_back(tune_section(material.tune[i], i));
  for (std::size_t i = 0; i < material.compare.size(); ++i) sections.push_back(compare_section(material.compare[i], i));
  for (std::size_t i = 0; i < material.verify.size(); ++i) sections.push_back(verify_section(material.verify[i], i));
  sections.push_back(machine_section(material));

  // Nothing is loaded and nothing runs: the policy says so to the browser too.
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n"
      "<header>\n<h1>{0}</h1>\n<p class=\"lead\">{2}</p>\n{3}<nav aria-label=\"Sections\">\n",
      escape(title), page_style,
      "Quantised matrix-vector products straight off GGUF files: what was measured, and what was proved. Marks, cells "
      "and "
      "lines say more when the pointer rests on them.",
      tiles_html(tiles_of(material)));
  for (const Section& section : sections) {
    out += fmt::format("<a href=\"#{}\">{}</a>\n", escape(section.id), escape(section.title));
  }
  out += "</nav>\n</header>\n<main>\n";
  for (const Section& section : sections) {
    out += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", escape(section.id), escape(section.title),
                       section.body);
  }
  out += fmt::format("</main>\n<footer>Made by <code>lanewise report</code> from {}.</footer>\n</body>\n</html>\n",
                     escape(fmt::format("{}", fmt::join(material.files, ", "))));
  return out;
}

}  // namespace lanewise::program::report
