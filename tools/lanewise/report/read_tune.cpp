#include "report/read.h"

namespace lanewise::program::report {
namespace {

std::optional<TuneEntry> read_tuned(const Json& entry) {
  TuneEntry tuned;
  tuned.format = text_of(entry, "format");
  tuned.rows = number_of(entry, "rows");
  tuned.cols = number_of(entry, "cols");
  tuned.tokens = number_of(entry, "tokens");
  tuned.passes = number_of(entry, "passes");
  const Json* before = entry.find("default");
  const Json* after = entry.find("chosen");
  if (tuned.format.empty() || before == nullptr || after == nullptr) return std::nullopt;
  tuned.by_default = text_of(*before, "tile");
  tuned.default_us = number_of(*before, "cold_us");
  tuned.chosen = text_of(*after, "tile");
  tuned.chosen_us = number_of(*after, "cold_us");
  tuned.won = flag_of(entry, "won", false);
  tuned.ratio = number_of(entry, "ratio", 1);
  tuned.low = number_of(entry, "ratio_low", tuned.ratio);
  tuned.high = number_of(entry, "ratio_high", tuned.ratio);
  tuned.rounds = number_of(entry, "rounds");
  if (const Json* rejected = entry.find("rejected")) {
    for (const JsonMember& each : rejected->members()) tuned.rejected += each.value.as_number().value_or(0);
  }
  tuned.candidates = static_cast<double>(list_of(entry, "candidates").size());
  if (!(tuned.ratio > 0)) return std::nullopt;
  return tuned;
}

}  // namespace

TuneRun read_tune(const Json& document) {
  TuneRun run;
  run.device = text_of(document, "device");
  if (const Json* print = document.find("fingerprint")) {
    if (const std::string name = text_of(*print, "device"); !name.empty()) run.device = name;
  }
  run.model = text_of(document, "model");
  run.finished = flag_of(document, "finished", true);
  run.leaves_out = text_of(document, "leaves_out");
  run.left = list_of(document, "left").size();
  for (const Json& entry : list_of(document, "entries")) {
    if (auto tuned = read_tuned(entry)) {
      run.entries.push_back(*std::move(tuned));
    } else {
      ++run.unread;
    }
  }
  for (const Json& entry : list_of(document, "decoding")) {
    const TunedDecoding decoding{number_of(entry, "tokens"), number_of(entry, "default_ms"),
                                 number_of(entry, "tuned_ms"), number_of(entry, "ratio", 1)};
    if (decoding.default_ms > 0) run.decoding.push_back(decoding);
  }
  return run;
}

}  // namespace lanewise::program::report
