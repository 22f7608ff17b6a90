#include "harness/stages.h"

#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

#include "formats/formats.h"

namespace lanewise {
namespace {

std::string shown(float value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.9g (0x%08" PRIX32 ")", static_cast<double>(value),
                std::bit_cast<std::uint32_t>(value));
  return text;
}
std::string shown(std::int64_t value) { return std::to_string(value); }

bool same(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }
bool same(std::int64_t a, std::int64_t b) { return a == b; }

// What meets an accumulator by addition: the sign of a zero is lost there (they start at +0, and never become -0), so
// the arithmetic leaves it open. Nor does it say which NaN, before y.
float settled(float value) {
  if (value == 0) return 0;
  return std::isnan(value) ? std::bit_cast<float>(canonical_nan) : value;
}

// A trace of either side in one form. What a side doesn't hold is left empty or unset and isn't compared.
struct Step {
  std::int64_t k;
  std::int64_t g;
  std::int64_t v;
  bool is_min;
  std::vector<std::int64_t> sums;
  std::optional<float> value;
  std::optional<float> scale;
  float term;
  float after;
};

struct Common {
  bool poisoned;
  std::vector<std::int64_t> e;
  std::vector<std::int64_t> q;
  std::vector<float> xq;
  std::vector<Step> steps;
  std::array<float, eighths> r;
  float y;
};

Common common(const Trace& t) {
  Common out{t.poisoned, {t.exponents.begin(), t.exponents.end()}, {t.q.begin(), t.q.end()}, t.xq, {}, t.eighth_sums,
             t.y};
  for (std::size_t g = 0; g < eighths; ++g) out.r[g] = settled(t.eighth_sums[g]);
  const bool codes = t.xq.empty();
  for (float& value : out.xq) value = settled(value);
  for (const TraceStep& s : t.steps) {
    Step step{static_cast<std::int64_t>(s.k), s.g, s.v, s.is_min, {}, s.value, settled(s.scale), settled(s.term),
              settled(s.accumulator)};
    if (codes) step.sums.assign(s.sums.begin(), s.sums.end());
    out.steps.push_back(std::move(step));
  }
  return out;
}

Common common(const oracle::Trace& t, const FormatInfo& info) {
  Common out{t.poisoned, {}, {}, {}, {}, {}, t.y};
  if (info.is_float()) {
    for (std::size_t k = 0; k < t.q.size(); ++k) {
      out.xq.push_back(static_cast<float>(std::ldexp(static_cast<double>(t.q[k]), t.e[k / oracle::kSuperBlock])));
    }
  } else {
    out.e.assign(t.e.begin(), t.e.end());
    out.q.assign(t.q.begin(), t.q.end());
  }
  for (std::size_t g = 0; g < eighths; ++g) out.r[g] = settled(t.r[g]);
  const std::size_t planes = t.FJ.empty() ? 0 : t.J.size() / t.FJ.size();
  for (const oracle::Step& s : t.steps) {
    Step step{s.k, s.g, s.v, s.is_min, {}, {}, {}, settled(s.addend), settled(s.after)};
    if (!info.is_float()) {
      const auto group = static_cast<std::size_t>(s.k) / info.dgroup;
      const auto& sums = s.is_min ? t.M : t.J;
      const auto first = sums.begin() + static_cast<std::ptrdiff_t>(group * planes);
      step.sums.assign(first, first + static_cast<std::ptrdiff_t>(planes));
      step.sums.resize(3, 0);
      step.value = (s.is_min ? t.FM : t.FJ)[group];
      if (info.kind == FormatKind::HALF) step.scale = settled(static_cast<float>((s.is_min ? t.m : t.d)[group]));
    }
    out.steps.push_back(std::move(step));
  }
  return out;
}

template <class T>
bool note(StageDifference& out, Stage stage, std::int64_t k, const T& ours, const T& theirs) {
  if (same(ours, theirs)) return false;
  out.stage = stage;
  out.k = static_cast<std::uint64_t>(k);
  out.ours = shown(ours);
  out.theirs = shown(theirs);
  return true;
}

// Lists that both sides hold; a different length counts as a difference at the shorter one's end.
template <class T>
bool note_list(StageDifference& out, Stage stage, std::int64_t apart, const std::vector<T>& ours,
               const std::vector<T>& theirs) {
  if (ours.empty() || theirs.empty()) return false;
  const std::size_t both = std::min(ours.size(), theirs.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (note(out, stage, static_cast<std::int64_t>(i) * apart, ours[i], theirs[i])) return true;
  }
  return note(out, stage, static_cast<std::int64_t>(both) * apart, static_cast<std::int64_t>(ours.size()),
              static_cast<std::int64_t>(theirs.size()));
}

bool note_step(StageDifference& out, const Step& ours, const Step& theirs) {
  out.g = static_cast<std::uint32_t>(ours.g);
  out.v = static_cast<std::uint32_t>(ours.v);
  const auto k = ours.k;
  if (note(out, Stage::place, k, ours.k, theirs.k) || note(out, Stage::place, k, ours.g, theirs.g) ||
      note(out, Stage::place, k, ours.v, theirs.v) ||
      note(out, Stage::place, k, std::int64_t{ours.is_min}, std::int64_t{theirs.is_min})) {
    return true;
  }
  if (!ours.sums.empty() && !theirs.sums.empty()) {
    for (std::size_t p = 0; p < 3; ++p) {
      if (note(out, ours.is_min ? Stage::M : Stage::J, k, ours.sums[p], theirs.sums[p])) return true;
    }
  }
  if (ours.value && theirs.value && note(out, Stage::F, k, *ours.value, *theirs.value)) return true;
  return (ours.scale && theirs.scale && note(out, Stage::d, k, *ours.scale, *theirs.scale)) ||
         note(out, Stage::term, k, ours.term, theirs.term) ||
         note(out, Stage::accumulator, k, ours.after, theirs.after);
}

StageDifference compare(const Common& ours, const Common& theirs) {
  StageDifference out;
  if (note(out, Stage::poisoned, 0, std::int64_t{ours.poisoned}, std::int64_t{theirs.poisoned})) return out;
  // A poisoned token has no integers: y is NaN whatever they are.
  if (ours.poisoned) {
    note(out, Stage::y, 0, ours.y, theirs.y);
    return out;
  }
  if (note_list(out, Stage::e, oracle::kSuperBlock, ours.e, theirs.e)) return out;
  if (note_list(out, Stage::q, 1, ours.q, theirs.q)) return out;
  if (note_list(out, Stage::q, 1, ours.xq, theirs.xq)) return out;
  const std::size_t both = std::min(ours.steps.size(), theirs.steps.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (note_step(out, ours.steps[i], theirs.steps[i])) return out;
  }
  out.g = out.v = 0;
  if (note(out, Stage::steps, 0, static_cast<std::int64_t>(ours.steps.size()),
           static_cast<std::int64_t>(theirs.steps.size()))) {
    return out;
  }
  for (std::uint32_t g = 0; g < eighths; ++g) {
    out.g = g;
    if (note(out, Stage::r, 0, ours.r[g], theirs.r[g])) return out;
  }
  out.g = 0;
  note(out, Stage::y, 0, ours.y, theirs.y);
  return out;
}

}  // namespace

std::string_view stage_name(Stage stage) {
  constexpr std::string_view names[] = {"none", "poisoned", "e", "q",    "steps",       "place", "J",
                                        "M",    "F",        "d", "term", "accumulator", "r",     "y"};
  return names[static_cast<std::size_t>(stage)];
}

std::string to_string(const StageDifference& difference) {
  if (!difference.found()) return "the traces agree";
  std::string out = "the traces differ first in " + std::string(stage_name(difference.stage));
  if (difference.stage == Stage::r) {
    out += "[" + std::to_string(difference.g) + "]";
  } else if (difference.stage != Stage::y && difference.stage != Stage::poisoned && difference.stage != Stage::steps) {
    out += " at k " + std::to_string(difference.k);
  }
  if (difference.stage >= Stage::place && difference.stage <= Stage::accumulator) {
    out += ", accumulator a[" + std::to_string(difference.g) + "][" + std::to_string(difference.v) + "]";
  }
  return out + ": " + difference.ours + ", " + difference.theirs;
}

StageDifference compare_traces(const Trace& ours, const Trace& theirs) { return compare(common(ours), common(theirs)); }

StageDifference compare_traces(const Trace& ours, const oracle::Trace& theirs, Format format) {
  return compare(common(ours), common(theirs, format_info(format)));
}

}  // namespace lanewise
