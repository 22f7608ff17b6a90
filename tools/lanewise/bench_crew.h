// The threads of a measurement. Those that spin wait for the next call in a loop, as an inference program's do between
// the matrices of a token; those that sleep are the library's pool. Neither is pinned.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "backends/cpu/pool.h"

namespace lanewise::program {

class Crew {
 public:
  /// `threads` counts the calling one. Where the system refuses some, threads() says how many there are.
  Crew(unsigned threads, bool spin);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// task(part) once for each part below threads(), one a thread; returns when all are done. The calling thread takes
  /// part.
  template <class Task>
  void run(const Task& task) {
    run_erased([](void* context, std::uint32_t part) { (*static_cast<const Task*>(context))(part); },
               const_cast<Task*>(&task));
  }
  /// Puts the workers to sleep, so that they take no processor from anyone, until the next run() or wake(). Sleeping
  /// threads do nothing else.
  void park();
  /// Has the workers where they were before park().
  void wake();
  [[nodiscard]] unsigned threads() const {
    return pool_ ? pool_->threads() : static_cast<unsigned>(workers_.size()) + 1;
  }

 private:
  void run_erased(Pool::Task task, void* context);
  void work(std::uint32_t part);

  std::unique_ptr<Pool> pool_;
  std::vector<std::thread> workers_;
  Pool::Task task_ = nullptr;
  void* context_ = nullptr;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> parked_ = false;
  std::atomic<std::size_t> asleep_ = 0;              // workers that wait for parked_ to change
  alignas(64) std::atomic<std::uint64_t> call_ = 0;  // counts calls
  alignas(64) std::atomic<std::uint32_t> left_ = 0;  // workers still inside the call
};

}  // namespace lanewise::program
