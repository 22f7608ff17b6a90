#include "bench_crew.h"

#include <sched.h>

#include <csignal>
#include <system_error>

namespace lanewise::program {
namespace {

// A worker that finds no call for so long gives its processor away each time: with more threads than processors the
// one that everybody waits for must run.
constexpr unsigned patience = 1U << 14U;

void pause_once() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

template <class Ready>
void spin_until(const Ready& ready) {
  for (unsigned tries = 0; !ready(); ++tries) {
    if (tries < patience) {
      pause_once();
    } else {
      ::sched_yield();
    }
  }
}

}  // namespace

Crew::Crew(unsigned threads, bool spin) {
  if (!spin) {
    pool_ = std::make_unique<Pool>(threads);
    return;
  }
  // Signals are for the program's own thread.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  workers_.reserve(threads);
  for (unsigned part = 1; part < threads; ++part) {
    try {
      workers_.emplace_back([this, part] { work(part); });
    } catch (const std::system_error&) {
      break;
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Crew::~Crew() {
  wake();
  stop_ = true;
  call_.fetch_add(1, std::memory_order_release);
  for (std::thread& worker : workers_) worker.join();
}

void Crew::work(std::uint32_t part) {
  for (std::uint64_t seen = 0;; ++seen) {
    while (call_.load(std::memory_order_acquire) == seen) {
      spin_until([&] { return call_.load(std::memory_order_acquire) != seen || parked_; });
      if (!parked_) continue;
      ++asleep_;
      parked_.wait(true);
      --asleep_;
    }
    if (stop_) return;
    task_(context_, part);
    left_.fetch_sub(1, std::memory_order_release);
  }
}

void Crew::park() {
  if (workers_.empty() || parked_.exchange(true)) return;
  spin_until([&] { return asleep_ == workers_.size(); });
}

void Crew::wake() {
  if (!parked_.exchange(false)) return;
  parked_.notify_all();
  spin_until([&] { return asleep_ == 0; });
}

void Crew::run_erased(Pool::Task task, void* context) {
  if (pool_) {
    pool_->run(pool_->threads(), task, context);
    return;
  }
  wake();
  task_ = task;
  context_ = context;
  left_.store(static_cast<std::uint32_t>(workers_.size()), std::memory_order_relaxed);
  call_.fetch_add(1, std::memory_order_release);
  task(context, 0);
  spin_until([&] { return left_.load(std::memory_order_acquire) == 0; });
}

}  // namespace lanewise::program
