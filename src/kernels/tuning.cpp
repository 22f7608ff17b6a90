#include "kernels/tuning.h"

#include <algorithm>
#include <utility>

#include "kernels/kernel.h"

namespace lanewise {

TuningKey key_of(const Problem& problem, std::uint32_t threads) {
  const bool is_float = format_info(problem.format).is_float();
  return {problem.format, problem.rows, problem.cols,  is_float ? Planes::x16 : problem.planes,
          problem.layout, threads,      problem.tokens};
}

void Tuning::put(Tuned entry) {
  const auto at = std::ranges::lower_bound(entries_, entry.key, {}, &Tuned::key);
  if (at != entries_.end() && at->key == entry.key) {
    *at = std::move(entry);
  } else {
    entries_.insert(at, std::move(entry));
  }
}

const Tuned* Tuning::find(const Problem& problem, std::uint32_t threads) const {
  TuningKey key = key_of(problem, threads);
  const auto is_same = [&](const Tuned& entry) {
    key.tokens = entry.key.tokens;
    return entry.key == key;
  };
  const auto at = std::ranges::lower_bound(entries_, key, {}, &Tuned::key);
  if (at != entries_.end() && is_same(*at)) return &*at;
  if (at != entries_.begin() && is_same(*std::prev(at))) return &*std::prev(at);
  return nullptr;
}

}  // namespace lanewise
