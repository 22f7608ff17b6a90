// The search for the best tile of one shape and window: verify each candidate, halve the field by paired rounds, and
// hold the best against the default. What is measured, and on what, is behind Subject.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "tune/statistics.h"

namespace lanewise::tune {

/// Candidate 0 is the default.
class Subject {
 public:
  virtual ~Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  struct Verified {
    std::uint64_t values = 0;  ///< outputs compared with the scalar kernel's bits
    std::uint64_t differing = 0;
  };
  /// Runs the candidate once and compares all it wrote.
  virtual Result<Verified> verify(std::size_t candidate) = 0;
  /// Microseconds a product, over as many as make one time. `hot`: of one copy of W, otherwise of copies in turn.
  virtual Result<double> time(std::size_t candidate, bool hot) = 0;
  /// The clock's speed now, any unit; 0: it can't be told.
  virtual double speed() { return 0; }

 protected:
  Subject() = default;
};

struct SearchOptions {
  std::uint32_t screening = 3;  ///< rounds before the field is halved, each time
  std::uint32_t rounds = 15;    ///< that count, of each final run
  std::uint32_t runs = 3;
  std::uint32_t most_attempts = 2;  ///< final rounds made at most, in multiples of `rounds`
  double least_win = 0.01;
  bool hot = true;
  double seconds = 0;  ///< that the search may take; 0: any
  Limits limits;
  std::function<double()> now;                ///< seconds, for `seconds`
  std::function<bool()> stop;                 ///< ends the search as soon as it gives true
  std::function<void(double part)> progress;  ///< how much of it is done, 0 to 1
};

enum class Status : std::uint8_t { chosen, beaten, too_small_a_win, not_measured, failed };
const char* status_words(Status status);

struct CandidateResult {
  Status status = Status::not_measured;
  std::string why;              ///< of a failure
  std::optional<double> ratio;  ///< to the default, by the latest rounds that it was in
  std::uint32_t rounds = 0;     ///< that counted, of those
  double low = 1, high = 1;     ///< of final runs: the lowest and the highest one's ratio
  double us = 0;                ///< of final runs: the least of their medians
  bool differs = false;         ///< it failed for a wrong value
};

struct SearchResult {
  std::size_t chosen = 0;
  bool is_complete = false;  ///< false: stopped, or no time for a final; the default stays
  std::string why_not;       ///< where the search came to no end
  Decision decision;         ///< of `chosen`; where that is the default, of the best that didn't win
  double default_us = 0;     ///< cold, the least of the runs' medians
  double chosen_us = 0;
  std::optional<double> default_hot_us;
  std::optional<double> chosen_hot_us;
  std::uint32_t rounds = 0;  ///< of the final runs, that counted
  std::uint32_t rejected_control = 0;
  std::uint32_t rejected_clock = 0;
  double control_median = 1, control_low = 1, control_high = 1, control_bound = 0;  ///< of the final runs
  std::uint64_t verified = 0;                                                       ///< outputs, of all candidates
  std::vector<CandidateResult> candidates;
};

/// How much is measured where time is short: fewer candidates first, then fewer runs, then fewer rounds.
struct Effort {
  std::size_t candidates = 0;  ///< beside the default
  std::uint32_t runs = 0;      ///< 0: not even the least final fits
  std::uint32_t rounds = 0;
};
/// `timing`: seconds of one time.
Effort effort_for(std::size_t candidates, const SearchOptions& options, double timing);
/// Times that such an effort takes.
double timings_of(const Effort& effort, const SearchOptions& options);

/// Candidates in the order of their rank: where time is short, the last are left out. Errors: of the default's product,
/// which must run and be right.
Result<SearchResult> search(Subject& subject, std::size_t candidates, const SearchOptions& options);

/// Paired rounds of all candidates, none left out: what `lanewise lab tiles` does. The same fields; `chosen` is the
/// best that clearly beats the first.
Result<SearchResult> compare_all(Subject& subject, std::size_t candidates, const SearchOptions& options);

}  // namespace lanewise::tune
