#include "tune/search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lanewise::tune {
namespace {

// Contenders of a final beside the default and its control.
constexpr std::size_t most_finalists = 2;
// After the first round of all, what takes so many times as long as the best is no contender.
constexpr double hopeless = 2;
// Rounds that must count in a run of `rounds`, where interference left fewer.
constexpr std::uint32_t least_of(std::uint32_t rounds) { return (rounds + 1) / 2; }
constexpr std::uint32_t least_rounds = 5;
// Of the time, what is left to verification and to making a round's times.
constexpr double for_timings = 0.85;

class Search {
 public:
  Search(Subject& subject, std::size_t candidates, const SearchOptions& options)
      : subject_(subject), options_(options) {
    result_.candidates.resize(candidates);
  }

  Result<SearchResult> run() {
    LW_TRY(begin());
    if (stopped()) return finish("interrupted");
    if (result_.candidates.size() == 1) return time_default_alone();
    effort_ = effort_for(result_.candidates.size() - 1, options_, timing_s_);
    if (effort_.runs == 0) return finish("no time left for a comparison");
    all_ = timings_of(effort_, options_);
    std::vector<std::size_t> field;
    for (std::size_t i = 1; i <= effort_.candidates; ++i) {
      if (stopped()) return finish("interrupted");
      LW_ASSIGN(is_right, verify(i));
      if (is_right) field.push_back(i);
    }
    LW_TRY(screen(field));
    if (stopped()) return finish("interrupted");
    if (field.empty()) return time_default_alone();
    return final(field);
  }

  Result<SearchResult> run_all() {
    LW_TRY(begin());
    effort_ = {result_.candidates.size() - 1, options_.runs, options_.rounds};
    std::vector<std::size_t> field;
    for (std::size_t i = 1; i < result_.candidates.size(); ++i) {
      if (stopped()) return finish("interrupted");
      LW_ASSIGN(is_right, verify(i));
      if (is_right) field.push_back(i);
    }
    all_ = static_cast<double>((field.size() + 2) * 2) * effort_.runs * effort_.rounds;
    if (field.empty()) return time_default_alone();
    return final(field);
  }

 private:
  [[nodiscard]] bool stopped() const { return options_.stop && options_.stop(); }

  SearchResult finish(std::string why_not) {
    result_.why_not = std::move(why_not);
    result_.is_complete = result_.why_not.empty();
    if (result_.is_complete && options_.progress) options_.progress(1);
    return std::move(result_);
  }

  // The default, verified, and how long a time takes.
  Outcome begin() {
    LW_ASSIGN(verified, subject_.verify(0));
    result_.verified += verified.values;
    if (verified.differing != 0) {
      return make_error(LW_ERROR_INTERNAL, "the default's product has " + std::to_string(verified.differing) +
                                               " wrong values of " + std::to_string(verified.values));
    }
    LW_ASSIGN(first, subject_.time(0, false));
    const double start = options_.now ? options_.now() : 0;
    LW_ASSIGN(second, subject_.time(0, false));
    timing_s_ = options_.now ? options_.now() - start : 0;
    result_.default_us = result_.chosen_us = std::min(first, second);
    return Done{};
  }

  Result<bool> verify(std::size_t i) {
    const auto verified = subject_.verify(i);
    CandidateResult& candidate = result_.candidates[i];
    if (!verified) {
      // A device that is lost fails the default's next product too, and ends the search there.
      candidate.status = Status::failed;
      candidate.why = verified.error().message;
      return false;
    }
    result_.verified += verified->values;
    if (verified->differing == 0) return true;
    candidate.status = Status::failed;
    candidate.differs = true;
    candidate.why = std::to_string(verified->differing) + " wrong values of " + std::to_string(verified->values);
    return false;
  }

  // Contenders: the default, the default, the field.
  Result<Round> round(const std::vector<std::size_t>& field, bool hot) {
    Round made;
    made.us.resize(field.size() + 2);
    double speed = subject_.speed();
    for (const std::size_t place : order_of(made.us.size(), ++rounds_made_)) {
      if (stopped()) return made;
      LW_ASSIGN(us, subject_.time(place < 2 ? 0 : field[place - 2], hot));
      made.us[place] += us;
      ++timed_;
      if (options_.progress && all_ > 0) options_.progress(std::min(1.0, static_cast<double>(timed_) / all_));
    }
    // The slower of before and after.
    const double after = subject_.speed();
    made.speed = std::min(speed, after);
    return made;
  }

  // Halves the field until the finalists are left, best first.
  Outcome screen(std::vector<std::size_t>& field) {
    std::vector<std::vector<double>> ratios(result_.candidates.size());
    const auto rank = [&](std::size_t least, double worst) {
      std::vector<double> medians;
      for (const std::size_t each : field) {
        medians.push_back(median(ratios[each]));
        result_.candidates[each].ratio = medians.back();
        result_.candidates[each].rounds = static_cast<std::uint32_t>(ratios[each].size());
        result_.candidates[each].status = Status::beaten;
      }
      std::vector<std::size_t> kept;
      if (worst > 0) {
        const double best = std::ranges::min(medians);
        for (std::size_t i = 0; i < field.size(); ++i) {
          if (medians[i] <= worst * std::min(best, 1.0)) kept.push_back(field[i]);
        }
      } else {
        for (const std::size_t place : better_half(medians, least)) kept.push_back(field[place]);
      }
      field = std::move(kept);
    };
    for (std::uint32_t stage = 0; field.size() > (stage == 0 ? 0 : most_finalists); ++stage) {
      for (std::uint32_t i = 0; i < options_.screening; ++i) {
        LW_ASSIGN(made, round(field, false));
        if (stopped()) return Done{};
        for (std::size_t place = 0; place < field.size(); ++place) {
          ratios[field[place]].push_back(made.us[place + 2] / made.us[0]);
        }
        if (stage == 0 && i == 0) rank(1, hopeless);
        if (field.empty()) return Done{};
      }
      rank(std::min(most_finalists, field.size()), 0);
    }
    return Done{};
  }

  Result<SearchResult> final(const std::vector<std::size_t>& field) {
    std::vector<std::vector<Paired>> runs(field.size());
    std::vector<Paired> defaults;
    std::vector<double> control_medians;
    const std::uint32_t least = std::max(least_rounds, least_of(effort_.rounds));
    for (std::uint32_t run = 0; run < effort_.runs; ++run) {
      std::vector<Round> rounds;
      Sieve sifted;
      while (sifted.accepted() < effort_.rounds &&
             rounds.size() < std::size_t{effort_.rounds} * options_.most_attempts) {
        LW_ASSIGN(made, round(field, false));
        if (stopped()) return finish("interrupted");
        rounds.push_back(std::move(made));
        if (rounds.size() >= effort_.rounds) sifted = sieve(rounds, options_.limits);
      }
      note(sifted, run);
      control_medians.push_back(sifted.control_median);
      if (sifted.accepted() < std::min(least, effort_.rounds)) {
        return finish("too much interference: " + std::to_string(sifted.accepted()) + " rounds of " +
                      std::to_string(rounds.size()) + " counted");
      }
      defaults.push_back(compare(rounds, sifted, 0));
      for (std::size_t i = 0; i < field.size(); ++i) runs[i].push_back(compare(rounds, sifted, i + 2));
    }
    result_.control_median = median(std::move(control_medians));
    const Decision of_default = decide(defaults, options_.least_win, least);
    result_.default_us = result_.chosen_us = of_default.us;
    result_.rounds = of_default.rounds;
    settle(field, runs, std::min(least, effort_.rounds));
    if (options_.hot) LW_TRY(time_hot());
    return finish(stopped() ? "interrupted" : "");
  }

  void note(const Sieve& sifted, std::uint32_t run) {
    result_.rejected_control += sifted.control;
    result_.rejected_clock += sifted.clock;
    result_.control_low = run == 0 ? sifted.control_low : std::min(result_.control_low, sifted.control_low);
    result_.control_high = run == 0 ? sifted.control_high : std::max(result_.control_high, sifted.control_high);
    result_.control_bound = std::max(result_.control_bound, sifted.bound);
  }

  void settle(const std::vector<std::size_t>& field, const std::vector<std::vector<Paired>>& runs,
              std::uint32_t least) {
    std::optional<std::size_t> best;
    std::optional<Decision> nearest;
    for (std::size_t i = 0; i < field.size(); ++i) {
      const Decision decision = decide(runs[i], options_.least_win, least);
      CandidateResult& candidate = result_.candidates[field[i]];
      candidate.ratio = decision.ratio;
      candidate.rounds = decision.rounds;
      candidate.low = decision.low;
      candidate.high = decision.high;
      candidate.us = decision.us;
      candidate.status = decision.ratio < 1 && !decision.wins ? Status::too_small_a_win : Status::beaten;
      if (!nearest || decision.ratio < nearest->ratio) nearest = decision;
      if (!decision.wins || (best && decision.ratio >= result_.decision.ratio)) continue;
      best = field[i];
      result_.decision = decision;
    }
    if (best) {
      result_.chosen = *best;
      result_.chosen_us = result_.decision.us;
    } else {
      result_.decision = *nearest;
    }
    result_.candidates[result_.chosen].status = Status::chosen;
  }

  Outcome time_hot() {
    const bool won = result_.chosen != 0;
    std::vector<Round> rounds;
    for (std::uint32_t i = 0; i < effort_.rounds; ++i) {
      LW_ASSIGN(made, round(won ? std::vector{result_.chosen} : std::vector<std::size_t>{}, true));
      if (stopped()) return Done{};
      rounds.push_back(std::move(made));
    }
    const Sieve sifted = sieve(rounds, options_.limits);
    if (sifted.accepted() == 0) return Done{};
    result_.default_hot_us = result_.chosen_hot_us = compare(rounds, sifted, 0).us;
    if (won) result_.chosen_hot_us = compare(rounds, sifted, 2).us;
    return Done{};
  }

  // Nothing to compare with.
  Result<SearchResult> time_default_alone() {
    effort_ = {0, 1, options_.rounds};
    std::vector<Round> rounds;
    for (std::uint32_t i = 0; i < effort_.rounds; ++i) {
      LW_ASSIGN(made, round({}, false));
      if (stopped()) return finish("interrupted");
      rounds.push_back(std::move(made));
    }
    const Sieve sifted = sieve(rounds, options_.limits);
    note(sifted, 0);
    result_.control_median = sifted.control_median;
    const Paired alone = compare(rounds, sifted, 0);
    if (alone.rounds != 0) result_.default_us = result_.chosen_us = alone.us;
    result_.rounds = alone.rounds;
    result_.candidates[0].status = Status::chosen;
    if (options_.hot) LW_TRY(time_hot());
    return finish("");
  }

  Subject& subject_;
  const SearchOptions& options_;
  SearchResult result_;
  Effort effort_;
  double timing_s_ = 0;
  double all_ = 0;  // times of the whole search
  std::uint64_t timed_ = 0;
  std::uint64_t rounds_made_ = 0;
};

}  // namespace

const char* status_words(Status status) {
  switch (status) {
    case Status::chosen:
      return "chosen";
    case Status::beaten:
      return "beaten";
    case Status::too_small_a_win:
      return "too small a win";
    case Status::not_measured:
      return "not measured";
    case Status::failed:
      return "failed";
  }
  return "?";
}

double timings_of(const Effort& effort, const SearchOptions& options) {
  double timings = 0;
  std::size_t field = effort.candidates;
  for (std::uint32_t stage = 0; field > (stage == 0 ? 0 : most_finalists); ++stage) {
    timings += static_cast<double>((field + 2) * 2) * options.screening;
    field = std::max(std::min(field, most_finalists), (field + 1) / 2);
  }
  const auto final = static_cast<double>((std::min(field, most_finalists) + 2) * 2) * effort.rounds;
  return timings + final * effort.runs + (options.hot ? 6.0 * effort.rounds : 0);
}

Effort effort_for(std::size_t candidates, const SearchOptions& options, double timing) {
  Effort effort{candidates, options.runs, options.rounds};
  if (options.seconds <= 0 || timing <= 0) return effort;
  const double most = options.seconds * for_timings / timing;
  const auto fits = [&] { return timings_of(effort, options) <= most; };
  while (!fits() && effort.candidates > std::min<std::size_t>(candidates, 4)) --effort.candidates;
  while (!fits() && effort.runs > 1) --effort.runs;
  while (!fits() && effort.rounds > std::min(options.rounds, 2 * least_rounds - 1)) --effort.rounds;
  while (!fits() && effort.candidates > 1) --effort.candidates;
  if (!fits()) effort.runs = 0;
  return effort;
}

Result<SearchResult> search(Subject& subject, std::size_t candidates, const SearchOptions& options) {
  return Search(subject, candidates, options).run();
}

Result<SearchResult> compare_all(Subject& subject, std::size_t candidates, const SearchOptions& options) {
  return Search(subject, candidates, options).run_all();
}

}  // namespace lanewise::tune
