// Rows of a matrix shared out to threads in chunks, with progress and cancellation.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

#include "harness/verify.h"

namespace lanewise {

/// Elements of W in a chunk: long enough that a thread seldom asks for one, short enough to cancel within a blink.
inline constexpr std::uint64_t chunk_elements = std::uint64_t{1} << 18U;

/// The threads, progress and cancellation of one run of the harness. Progress counts rows over all steps.
class RowWork {
 public:
  RowWork(const VerifyOptions& options, std::uint64_t total_rows);

  /// Calls `task(begin, end)` for chunks of [0, rows) of at most `chunk`, on the threads; the chunks' order is open.
  /// Returns false where it was cancelled or memory ran out: then some chunks were left out.
  bool run(std::uint64_t rows, std::uint64_t chunk, const std::function<void(std::uint64_t, std::uint64_t)>& task);
  [[nodiscard]] bool cancelled() const;
  /// A task met the end of memory; run() returned false.
  [[nodiscard]] bool out_of_memory() const { return out_of_memory_.load(); }

 private:
  void report(std::uint64_t rows);

  const VerifyOptions& options_;
  unsigned threads_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  std::mutex reporting_;
  std::atomic<bool> out_of_memory_{false};
};

}  // namespace lanewise
