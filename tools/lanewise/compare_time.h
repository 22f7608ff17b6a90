// How long products of a format and shape take on this machine, cold, as `lanewise bench` times them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bench_machine.h"
#include "bench_report.h"
#include "bench_run.h"
#include "output.h"

namespace lanewise::program {

struct CompareTimeOptions {
  std::vector<std::uint64_t> windows{1, 8};
  unsigned rounds = 3;
  unsigned threads = 1;
  std::uint64_t bytes = 0;  ///< to walk; 0: four last caches
  Planes planes = Planes::x16;
};

class CompareTimes {
 public:
  explicit CompareTimes(CompareTimeOptions options) : options_(std::move(options)) {}

  void add(Format format, std::uint64_t rows, std::uint64_t cols) { times_[{format, rows, cols}] = {}; }
  [[nodiscard]] bool empty() const { return times_.empty(); }
  /// Times all that was added. stop_asked ends it early, with what there is.
  Outcome run(Progress& progress);

  /// One a window, in their order; none where that shape wasn't timed.
  [[nodiscard]] const std::vector<double>& of(Format format, std::uint64_t rows, std::uint64_t cols) const;
  [[nodiscard]] const std::vector<std::uint64_t>& windows() const { return options_.windows; }
  [[nodiscard]] const BenchMachine& machine() const { return machine_; }
  /// How it was timed, and what is to be said of it: one sentence each.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Outputs of timed products that weren't the scalar kernel's.
  [[nodiscard]] std::uint64_t differing() const { return differing_; }

 private:
  Outcome choose_memory();

  CompareTimeOptions options_;
  std::map<std::tuple<Format, std::uint64_t, std::uint64_t>, std::vector<double>> times_;
  BenchMachine machine_;
  std::optional<WalkedMemory> memory_;
  std::vector<std::string> notes_;
  std::uint64_t differing_ = 0;
};

}  // namespace lanewise::program
