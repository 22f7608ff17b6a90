// What tuning bought: the chosen tile's time over the default's.

#include <algorithm>

#include <fmt/format.h>

#include "report/plots.h"
#include "report/strips.h"
#include "report/text.h"

namespace lanewise::program::report {

std::optional<Figure> tuning_gains(const TuneRun& run, const std::string& id) {
  if (run.entries.empty()) return std::nullopt;
  std::vector<const TuneEntry*> entries;
  std::size_t won = 0;
  std::vector<double> ratios{0.95, 1.02};
  for (const TuneEntry& entry : run.entries) {
    entries.push_back(&entry);
    won += entry.won ? 1 : 0;
    ratios.insert(ratios.end(), {entry.ratio, entry.low, entry.high});
  }
  std::vector<double> windows;
  std::vector<std::string> names;
  Strips strips;
  Figure made;
  const auto shape_of = [](const TuneEntry& entry) { return fmt::format("{:.0f}x{:.0f}", entry.cols, entry.rows); };
  for (const TuneEntry* entry : entries) {
    if (std::ranges::find(windows, entry->tokens) == windows.end()) windows.push_back(entry->tokens);
  }
  std::ranges::sort(windows);
  for (const TuneEntry* entry : entries) {
    const std::string name = fmt::format("{} {}", entry->format, shape_of(*entry));
    auto row = std::ranges::find(strips.rows, name, &StripRow::name);
    if (row == strips.rows.end()) row = strips.rows.insert(strips.rows.end(), {name, {}});
    const auto window = static_cast<std::size_t>(std::ranges::find(windows, entry->tokens) - windows.begin());
    row->marks.push_back({entry->ratio, series_class(window) + (entry->won ? "" : " hollow"),
                          static_cast<unsigned>(window),
                          fmt::format("{}, {} tokens: {} {} -> {}, x {}", name, count(entry->tokens),
                                      entry->won ? entry->chosen : "the default stays, " + entry->by_default,
                                      us_text(entry->default_us), us_text(entry->chosen_us), figure(entry->ratio)),
                          std::pair{entry->low, entry->high}});
    made.table.rows.push_back({entry->format, shape_of(*entry), entry->by_default,
                               entry->won ? entry->chosen : "(the same)", count(entry->tokens),
                               us_text(entry->default_us), us_text(entry->chosen_us), figure(entry->ratio),
                               figure(entry->low), figure(entry->high), count(entry->rounds), count(entry->rejected),
                               count(entry->candidates)});
  }
  for (std::size_t i = 0; i < windows.size(); ++i) {
    strips.legend.push_back({tokens_text(windows[i]), series_class(i), series_shape(i), false});
  }
  strips.title = "What tuning bought";
  strips.about = fmt::format(
      "The chosen tile's time over the default's, a row a format and shape, for {} entries. Left of 1 "
      "is faster; hollow marks kept the default.",
      entries.size());
  strips.range = Range::logarithmic(ratios).grown(0.05, true);
  strips.axis = {"time / time of the default", [](double v) { return figure(v); }, true};
  strips.line = 1;
  strips.below_line = "faster than the default";
  made.id = id + "-tuning";
  made.title = strips.title;
  made.about = fmt::format(
      "{} of {} entries have a tile that is faster than the default by more than the noise; the others keep it "
      "(hollow). Each "
      "ratio is the median of paired rounds, its line spans the runs. {}{}",
      won, entries.size(), run.finished ? "" : "Tuning ended before its last entry. ",
      run.left != 0 ? fmt::format("{} entries weren't tuned.", run.left) : "");
  made.draw = [strips](const Canvas& canvas) { return draw_strips(strips, canvas); };
  made.table.heads = {"format", "K x rows", "default", "chosen", "tokens",   "default's time", "chosen's",
                      "ratio",  "least",    "most",    "rounds", "rejected", "candidates"};
  made.table.words = 4;
  return made;
}

}  // namespace lanewise::program::report
