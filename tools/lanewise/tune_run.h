// A run of `lanewise tune`: which shapes, in which order, with how much time each, and what is kept of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench_model.h"
#include "output.h"
#include "tune/search.h"
#include "tune/store.h"
#include "tune_device.h"

namespace lanewise::program {

/// A matrix of the run and how much it counts.
struct TuneTarget {
  MatrixWish wish;
  std::uint64_t matrices = 0;  ///< in the model; 0 without one
  std::uint64_t passes = 0;    ///< read for one token
};

struct TuneWish {
  std::vector<TuneTarget> targets;
  std::vector<std::uint64_t> tokens;
  Planes planes = Planes::x16;
  double budget = 0;                 ///< seconds of all
  std::size_t most_candidates = 12;  /// beside the default
  tune::SearchOptions search;        ///< all but what the run sets
};

/// An entry, done.
struct TuneEntry {
  TuneTarget target;
  Problem problem;
  std::vector<tune::Candidate> candidates;
  tune::SearchResult result;

  [[nodiscard]] const tune::Candidate& chosen() const { return candidates[result.chosen]; }
};
/// One that wasn't.
struct TuneLeft {
  Problem problem;
  std::string why;
};

struct TuneOutcome {
  std::vector<TuneEntry> entries;
  std::vector<TuneLeft> left;
  std::uint64_t verified = 0;  ///< outputs compared, those of entries that were left among them
  double spent = 0;            ///< seconds
  bool interrupted = false;
};

/// Called with each entry as soon as it is done.
using TuneKeep = std::function<Outcome(const TuneEntry&)>;

/// Errors: those of the device, and of `keep`. stop_asked ends it early, with what there is.
Result<TuneOutcome> run_tuning(TuneDevice& device, const TuneWish& wish, Progress& progress, const TuneKeep& keep);

/// As the store keeps it.
tune::StoreEntry store_entry(const TuneEntry& entry, std::uint32_t threads, const std::string& date);

/// Milliseconds of all products of one window of the model, by the defaults and tuned; one for each window that every
/// shape was tuned in.
struct TuneDecoding {
  std::uint64_t tokens;
  double default_ms;
  double tuned_ms;
};
std::vector<TuneDecoding> decoding(const TuneWish& wish, const std::vector<TuneEntry>& entries);

/// Seconds of a clock that only goes forward.
double seconds_now();

/// "2026-11-30".
std::string today();

}  // namespace lanewise::program
