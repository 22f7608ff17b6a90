#include "tune_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include <fmt/format.h>

#include "exit_codes.h"

namespace lanewise::program {
namespace {

// How much of the time that tokens take is at stake: bytes read for one of them.
double weight_of(const TuneTarget& target) {
  return static_cast<double>(std::max<std::uint64_t>(target.passes, 1)) *
         static_cast<double>(target.wish.view().bytes());
}

std::string time_left(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(seconds, 0.0));
  return fmt::format("{}:{:02} left", whole / 60, whole % 60);
}

class TuningRun {
 public:
  TuningRun(TuneDevice& device, const TuneWish& wish, Progress& progress, const TuneKeep& keep)
      : device_(device), wish_(wish), progress_(progress), keep_(keep), start_(seconds_now()) {}

  Result<TuneOutcome> run() {
    std::vector<TuneTarget> targets = wish_.targets;
    std::ranges::stable_sort(targets,
                             [](const TuneTarget& a, const TuneTarget& b) { return weight_of(a) > weight_of(b); });
    all_ = targets.size() * wish_.tokens.size();
    for (const TuneTarget& target : targets) LW_TRY(tune(target));
    outcome_.spent = seconds_now() - start_;
    outcome_.interrupted = stop_asked;
    return std::move(outcome_);
  }

 private:
  [[nodiscard]] Problem problem_of(const TuneTarget& target, std::uint64_t tokens) const {
    const MatrixWish& w = target.wish;
    return {w.format, w.rows, w.cols, tokens, wish_.planes, w.layout};
  }
  [[nodiscard]] double seconds_left() const { return wish_.budget - (seconds_now() - start_); }

  Outcome tune(const TuneTarget& target) {
    const auto leave = [&](std::size_t from, const std::string& why) {
      for (std::size_t i = from; i < wish_.tokens.size(); ++i) {
        outcome_.left.push_back({problem_of(target, wish_.tokens[i]), why});
        ++done_;
      }
    };
    if (stop_asked || seconds_left() <= 0) {
      leave(0, stop_asked ? "interrupted" : "the budget ended");
      return Done{};
    }
    show(target, 0, 0);
    LW_ASSIGN(matrix, device_.matrix(target.wish, wish_.planes, std::nullopt));
    for (std::size_t i = 0; i < wish_.tokens.size(); ++i) {
      if (stop_asked || seconds_left() <= 0) {
        leave(i, stop_asked ? "interrupted" : "the budget ended");
        return Done{};
      }
      LW_TRY(tune(target, wish_.tokens[i], *matrix));
      ++done_;
    }
    return Done{};
  }

  Outcome tune(const TuneTarget& target, std::uint64_t tokens, TuneMatrix& matrix) {
    TuneEntry entry;
    entry.target = target;
    entry.problem = problem_of(target, tokens);
    entry.candidates = tune::candidates(device_.machine(), entry.problem);
    if (entry.candidates.empty()) {
      outcome_.left.push_back({entry.problem, "this device has no kernel for it"});
      return Done{};
    }
    entry.candidates.resize(std::min(entry.candidates.size(), wish_.most_candidates + 1));
    // What is left is shared evenly among what is left to do.
    const double until = seconds_now() + seconds_left() / static_cast<double>(all_ - done_);
    LW_ASSIGN(subject, matrix.window(tokens, entry.candidates));
    tune::SearchOptions options = wish_.search;
    options.seconds = std::max(until - seconds_now(), 0.001);
    options.limits = device_.limits();
    options.now = seconds_now;
    options.stop = [] { return stop_asked.load(); };
    options.progress = [&](double part) { show(target, tokens, part); };
    LW_ASSIGN(result, tune::search(*subject, entry.candidates.size(), options));
    entry.result = std::move(result);
    outcome_.verified += entry.result.verified;
    if (!entry.result.is_complete) {
      outcome_.left.push_back({entry.problem, entry.result.why_not});
      return Done{};
    }
    LW_TRY(keep_(entry));
    outcome_.entries.push_back(std::move(entry));
    return Done{};
  }

  void show(const TuneTarget& target, std::uint64_t tokens, double part) {
    // The whole takes the budget at most, and mostly less: by what was done so far.
    const double gone = seconds_now() - start_;
    const double done = static_cast<double>(done_) + part;
    const double whole = done > 0.5 ? gone / done * static_cast<double>(all_) : wish_.budget;
    const MatrixWish& w = target.wish;
    progress_.show(done_, all_,
                   fmt::format("{} {}x{}, {}: {}", format_info(w.format).name, w.cols, w.rows,
                               tokens == 0 ? std::string("making copies") : fmt::format("tokens {}", tokens),
                               time_left(std::min(whole, wish_.budget) - gone)));
  }

  TuneDevice& device_;
  const TuneWish& wish_;
  Progress& progress_;
  const TuneKeep& keep_;
  double start_;
  std::size_t all_ = 0;
  std::size_t done_ = 0;
  TuneOutcome outcome_;
};

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<TuneOutcome> run_tuning(TuneDevice& device, const TuneWish& wish, Progress& progress, const TuneKeep& keep) {
  return TuningRun(device, wish, progress, keep).run();
}

tune::StoreEntry store_entry(const TuneEntry& entry, std::uint32_t threads, const std::string& date) {
  tune::StoreEntry kept;
  kept.key = key_of(entry.problem, threads);
  kept.tile = entry.chosen().text();
  kept.default_tile = entry.candidates[0].text();
  kept.default_us = entry.result.default_us;
  kept.tuned_us = entry.result.chosen_us;
  kept.ratio = entry.result.chosen == 0 ? 1 : entry.result.decision.ratio;
  kept.rounds = entry.result.rounds;
  kept.rejected = entry.result.rejected_control + entry.result.rejected_clock;
  kept.date = date;
  return kept;
}

std::vector<TuneDecoding> decoding(const TuneWish& wish, const std::vector<TuneEntry>& entries) {
  std::vector<TuneDecoding> list;
  for (const std::uint64_t tokens : wish.tokens) {
    TuneDecoding sum{tokens, 0, 0};
    std::size_t found = 0;
    for (const TuneEntry& entry : entries) {
      if (entry.problem.tokens != tokens) continue;
      ++found;
      const auto passes = static_cast<double>(entry.target.passes);
      const double ratio = entry.result.chosen == 0 ? 1 : entry.result.decision.ratio;
      sum.default_ms += passes * entry.result.default_us / 1e3;
      sum.tuned_ms += passes * entry.result.default_us * ratio / 1e3;
    }
    if (found == wish.targets.size() && sum.default_ms > 0) list.push_back(sum);
  }
  return list;
}

std::string today() {
  const std::time_t seconds = std::time(nullptr);
  std::tm when{};
  ::gmtime_r(&seconds, &when);
  std::array<char, 16> text{};
  (void)std::strftime(text.data(), text.size(), "%Y-%m-%d", &when);
  return text.data();
}

}  // namespace lanewise::program
