#include "harness/rows.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "backends/cpu/cpu.h"
#include "base/checked.h"

namespace lanewise {

RowWork::RowWork(const VerifyOptions& options, std::uint64_t total_rows)
    : options_(options), threads_(options.threads == 0 ? cpu_count() : options.threads), total_(total_rows) {}

bool RowWork::cancelled() const {
  return options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed);
}

bool RowWork::run(std::uint64_t rows, std::uint64_t chunk,
                  const std::function<void(std::uint64_t, std::uint64_t)>& task) {
  std::atomic<std::uint64_t> next{0};
  const auto work = [&] {
    while (!cancelled() && !out_of_memory()) {
      const std::uint64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= rows) return;
      const std::uint64_t end = std::min(begin + chunk, rows);
      try {
        task(begin, end);
      } catch (const std::bad_alloc&) {
        out_of_memory_ = true;
        return;
      }
      report(end - begin);
    }
  };
  std::vector<std::thread> others;
  const std::uint64_t wanted = std::min<std::uint64_t>(threads_, ceil_div(rows, chunk));
  for (std::uint64_t i = 1; i < wanted; ++i) {
    try {
      others.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // the system gives no more threads: those there are take all chunks
    }
  }
  work();
  for (std::thread& other : others) other.join();
  return !cancelled() && !out_of_memory();
}

void RowWork::report(std::uint64_t rows) {
  if (!options_.progress) return;
  const std::lock_guard lock(reporting_);
  done_ += rows;
  options_.progress(done_, total_);
}

}  // namespace lanewise
