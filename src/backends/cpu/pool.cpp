#include "backends/cpu/pool.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>

namespace lanewise {

// A call of run(). Parts are handed out by `next`; the mutex orders everything else.
struct Pool::Job {
  Task task;
  void* context;
  std::uint32_t count;
  std::atomic<std::uint64_t> next = 0;  // passes `count` by up to one a thread: wider, so that it can't wrap
  std::uint32_t inside = 0;             // workers that hold a pointer to this job
  Job* newer = nullptr;

  [[nodiscard]] bool has_parts() const { return next.load(std::memory_order_relaxed) < count; }
  void work() {
    while (has_parts()) {
      const std::uint64_t part = next.fetch_add(1, std::memory_order_relaxed);
      if (part >= count) return;
      task(context, static_cast<std::uint32_t>(part));
    }
  }
};

Pool::Pool(unsigned threads) noexcept : process_(getpid()) {
  if (threads < 2) return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  const bool masked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;  // workers inherit it
  try {
    workers_.reserve(threads - 1);
    while (workers_.size() < threads - 1) workers_.emplace_back([this] { work(); });
  } catch (const std::exception&) {
    // No more to be had: threads() tells.
  }
  if (masked) pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool Pool::is_of_this_process() const { return process_ == getpid(); }

Pool::~Pool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

Pool::Job* Pool::job_with_parts() const {
  Job* job = oldest_;
  while (job != nullptr && !job->has_parts()) job = job->newer;
  return job;
}

void Pool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    Job* job = job_with_parts();
    if (job == nullptr) {
      if (stop_) return;
      wake_.wait(lock);
      continue;
    }
    ++job->inside;
    lock.unlock();
    job->work();
    lock.lock();
    // The job lives until its run() has the mutex and sees no one inside.
    if (--job->inside == 0) left_.notify_all();
  }
}

void Pool::run(std::uint32_t count, Task task, void* context) {
  Job job{task, context, count};
  if (count < 2 || workers_.empty()) {
    job.work();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    Job** end = &oldest_;
    while (*end != nullptr) end = &(*end)->newer;
    *end = &job;
  }
  // As many as can find a part; a worker that is on its way here already needs no call.
  if (count - 1 < workers_.size()) {
    for (std::uint32_t i = 1; i < count; ++i) wake_.notify_one();
  } else {
    wake_.notify_all();
  }
  job.work();
  std::unique_lock lock(mutex_);
  Job** link = &oldest_;
  while (*link != &job) link = &(*link)->newer;
  *link = job.newer;  // no worker can join any more
  left_.wait(lock, [&job] { return job.inside == 0; });
}

}  // namespace lanewise
