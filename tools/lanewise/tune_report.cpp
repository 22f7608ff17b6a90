#include "tune_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "arithmetic/activation.h"
#include "gguf/escape.h"

namespace lanewise::program {
namespace {

using tune::CandidateResult;
using tune::SearchResult;

double ratio_of(const TuneEntry& entry) { return entry.result.chosen == 0 ? 1 : entry.result.decision.ratio; }

std::string shape_text(const Problem& problem) { return fmt::format("{}x{}", problem.cols, problem.rows); }

Json optional(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json candidates_json(const TuneEntry& entry) {
  Json list = Json::array();
  for (std::size_t i = 0; i < entry.candidates.size(); ++i) {
    const CandidateResult& result = entry.result.candidates[i];
    list.push_back({{"tile", entry.candidates[i].text()},
                    {"predicted_us", entry.candidates[i].predicted_us},
                    {"ratio", i == 0 ? Json(1.0) : optional(result.ratio)},
                    {"rounds", i == 0 ? entry.result.rounds : result.rounds},
                    {"status", i == 0 && entry.result.chosen != 0 ? "beaten" : tune::status_words(result.status)},
                    {"why", result.why}});
  }
  return list;
}

Json entry_json(const TuneEntry& entry, std::uint32_t threads) {
  const Problem& p = entry.problem;
  const SearchResult& r = entry.result;
  const bool won = r.chosen != 0;
  Json json{{"format", format_info(p.format).name},
            {"cols", p.cols},
            {"rows", p.rows},
            {"tokens", p.tokens},
            {"activation", planes_name(p.planes)},
            {"layout", layout_name(p.layout)},
            {"threads", threads},
            {"bytes", entry.target.wish.view().bytes()},
            {"matrices", entry.target.matrices},
            {"passes", entry.target.passes}};
  json["default"] =
      Json{{"tile", entry.candidates[0].text()}, {"cold_us", r.default_us}, {"hot_us", optional(r.default_hot_us)}};
  json["chosen"] =
      Json{{"tile", entry.chosen().text()}, {"cold_us", r.chosen_us}, {"hot_us", optional(r.chosen_hot_us)}};
  json["won"] = won;
  json["ratio"] = ratio_of(entry);
  json["ratio_low"] = won ? r.decision.low : 1.0;
  json["ratio_high"] = won ? r.decision.high : 1.0;
  json["rounds"] = r.rounds;
  json["rejected"] = Json{{"control", r.rejected_control}, {"clock", r.rejected_clock}};
  json["control"] =
      Json{{"median", r.control_median}, {"low", r.control_low}, {"high", r.control_high}, {"bound", r.control_bound}};
  json["verified_values"] = r.verified;
  json["candidates"] = candidates_json(entry);
  return json;
}

}  // namespace

void print_tune_head(Output& out, const TuneDevice& device, const TuneWish& wish) {
  out.print("{}\n{} entries in {:.0f} s at most; cold times, each the least of {} runs' medians\n\n", device.about(),
            wish.targets.size() * wish.tokens.size(), wish.budget, wish.search.runs);
  out.print("{:<8}{:>13}{:>7}{:>11}  {:<9}{:>9}  {:<24}{:>7}{:>9}\n", "format", "K x rows", "tokens", "default us",
            "kernel", "tuned us", "tile", "rounds", "rejected");
}

void print_tune_entry(Output& out, const TuneEntry& entry) {
  const SearchResult& r = entry.result;
  const std::string tile =
      r.chosen == 0 ? std::string("the default") : fmt::format("{} ({:.3f})", entry.chosen().text(), ratio_of(entry));
  out.print("{:<8}{:>13}{:>7}{:>11.2f}  {:<9}{:>9.2f}  {:<24}{:>7}{:>9}\n", format_info(entry.problem.format).name,
            shape_text(entry.problem), entry.problem.tokens, r.default_us, entry.candidates[0].kernel->name,
            r.chosen_us, tile, r.rounds, r.rejected_control + r.rejected_clock);
  for (std::size_t i = 0; i < entry.candidates.size(); ++i) {
    if (r.candidates[i].status != tune::Status::failed) continue;
    out.print("  {} failed: {}\n", entry.candidates[i].text(), gguf::escape_for_terminal(r.candidates[i].why, 200));
  }
}

void print_tune_summary(Output& out, const TuneWish& wish, const TuneOutcome& outcome) {
  std::uint64_t rounds = 0;
  std::uint64_t rejected = 0;
  for (const TuneEntry& entry : outcome.entries) {
    rounds += entry.result.rounds;
    rejected += entry.result.rejected_control + entry.result.rejected_clock;
  }
  const auto won = std::ranges::count_if(outcome.entries, [](const TuneEntry& e) { return e.result.chosen != 0; });
  out.print("\n{} entries in {:.1f} s: something beat the default in {}; {} rounds counted, {} were rejected\n",
            outcome.entries.size(), outcome.spent, won, rounds, rejected);
  out.print("{} outputs compared with the scalar kernel's before anything was timed\n", grouped(outcome.verified));
  for (const TuneLeft& left : outcome.left) {
    out.print("left: {} {} tokens {}: {}\n", format_info(left.problem.format).name, shape_text(left.problem),
              left.problem.tokens, gguf::escape_for_terminal(left.why, 200));
  }
  const std::vector<TuneDecoding> effect = decoding(wish, outcome.entries);
  const bool of_model = std::ranges::any_of(wish.targets, [](const TuneTarget& t) { return t.passes != 0; });
  if (!of_model || effect.empty()) return;
  out.text("\nthe effect on decoding, by the model's own mix of matrices:\n");
  for (const TuneDecoding& each : effect) {
    out.print("  windows of {}: {:.3f} ms, tuned {:.3f} ms ({:.3f}); {:.3f} ms a token\n", each.tokens, each.default_ms,
              each.tuned_ms, each.tuned_ms / each.default_ms, each.tuned_ms / static_cast<double>(each.tokens));
  }
  out.print("left out of it: {}\n", projection_leaves_out);
}

Json to_json(const tune::Fingerprint& of) {
  return {{"backend", of.backend},
          {"device", of.device},
          {"driver", of.driver},
          {"kernels", of.kernels},
          {"processors", of.processors}};
}

Json tune_json(const TuneDevice& device, const std::string& device_name, const std::string& model,
               const std::string& store, const TuneWish& wish, const TuneOutcome& outcome) {
  const tune::Machine machine = device.machine();
  const std::uint32_t threads = machine.gpu == nullptr ? machine.threads : 0;
  Json json{{"library_version", lw_version()},
            {"arithmetic_version", lw_arithmetic_version()},
            {"kind", "tune"},
            {"device", device_name}};
  json["fingerprint"] = to_json(device.fingerprint());
  json["threads"] = threads;
  json["model"] = model.empty() ? Json(nullptr) : Json(model);
  json["store"] = store.empty() ? Json(nullptr) : Json(store);
  json["settings"] =
      Json{{"budget_s", wish.budget},  {"spent_s", outcome.spent},           {"rounds", wish.search.rounds},
           {"runs", wish.search.runs}, {"candidates", wish.most_candidates}, {"least_win", wish.search.least_win}};
  json["finished"] = outcome.left.empty() && !outcome.interrupted;
  Json entries = Json::array();
  for (const TuneEntry& entry : outcome.entries) entries.push_back(entry_json(entry, threads));
  json["entries"] = entries;
  Json left = Json::array();
  for (const TuneLeft& each : outcome.left) {
    left.push_back({{"format", format_info(each.problem.format).name},
                    {"cols", each.problem.cols},
                    {"rows", each.problem.rows},
                    {"tokens", each.problem.tokens},
                    {"why", each.why}});
  }
  json["left"] = left;
  Json effect = Json::array();
  if (!model.empty()) {
    for (const TuneDecoding& each : decoding(wish, outcome.entries)) {
      effect.push_back({{"tokens", each.tokens},
                        {"default_ms", each.default_ms},
                        {"tuned_ms", each.tuned_ms},
                        {"ratio", each.tuned_ms / each.default_ms}});
    }
  }
  json["decoding"] = effect;
  json["leaves_out"] = projection_leaves_out;
  return json;
}

}  // namespace lanewise::program
