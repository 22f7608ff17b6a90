// Another implementation beside us: a row a format, a mark a shape and window.

#include <algorithm>

#include <fmt/format.h>

#include "report/plots.h"
#include "report/strips.h"
#include "report/text.h"

namespace lanewise::program::report {

std::optional<Figure> peer_ratios(const BenchRun& run, const std::string& id) {
  Strips strips;
  std::vector<double> ratios{0.9, 1.1};
  std::vector<const BenchCase*> with;
  std::size_t without = 0;
  for (const BenchCase& c : run.cases) {
    if (!c.peer_missing.empty()) ++without;
    if (c.peer && c.peer->over_ours > 0) with.push_back(&c);
  }
  if (with.empty()) return std::nullopt;
  const std::vector<double> windows = windows_of(with);
  Figure made;
  std::size_t faster = 0;
  std::vector<double> all;
  for (const std::string& format : formats_of(with)) {
    StripRow row{format, {}};
    for (const BenchCase* c : with) {
      if (c->format != format) continue;
      const double ratio = c->peer->over_ours;
      const auto window = static_cast<std::size_t>(std::ranges::find(windows, c->tokens) - windows.begin());
      ratios.push_back(ratio);
      all.push_back(ratio);
      faster += ratio > 1 ? 1 : 0;
      row.marks.push_back(
          {ratio, series_class(window), static_cast<unsigned>(window),
           fmt::format("{} {}, {}{}: the peer takes {}, ours {} and {} for the image of x: x {} {}", format, c->shape(),
                       tokens_text(c->tokens), c->cold ? "" : ", hot", us_text(c->peer->us), us_text(c->us),
                       us_text(c->image_us), figure(ratio), c->peer->how.empty() ? "" : "(" + c->peer->how + ")")});
      made.table.rows.push_back({format, c->shape() + (c->cold ? "" : " (hot)"), count(c->tokens), us_text(c->us),
                                 us_text(c->image_us), us_text(c->peer->us), figure(ratio)});
    }
    strips.rows.push_back(std::move(row));
  }
  for (std::size_t i = 0; i < windows.size(); ++i) {
    strips.legend.push_back({tokens_text(windows[i]), series_class(i), series_shape(i), false});
  }
  strips.title = "Beside another implementation";
  strips.about = fmt::format(
      "The peer's time over ours for each of {} products, a row a format. Right of 1 ours is the faster.", with.size());
  strips.range = Range::logarithmic(ratios).grown(0.06, true);
  strips.axis = {"the peer's time / ours", [](double v) { return figure(v); }, true};
  strips.line = 1;
  strips.below_line = "the peer is faster";
  strips.above_line = "Lanewise is faster";

  made.id = id + "-peer";
  made.title = fmt::format("Beside {}", run.peer.empty() ? "another implementation" : run.peer);
  made.about = fmt::format(
      "The same product in the same run, one after the other in every round; the ratio is the median of the rounds'. "
      "Ours is the faster in {} of {}; the median ratio is {}.{}",
      faster, with.size(), figure(median_of(all)),
      without != 0 ? fmt::format(" The peer gave no figure for {} more.", without) : "");
  made.draw = [strips](const Canvas& canvas) { return draw_strips(strips, canvas); };
  made.table.heads = {"format", "K x rows", "tokens", "ours", "making the image of x", "the peer's", "ratio"};
  made.table.words = 2;
  return made;
}

}  // namespace lanewise::program::report
