#include "backends/cpu/pool.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <exception>

#include "kernels/shares.h"

namespace lanewise {

// A call of run(). The mutex orders everything but who takes which part.
struct Pool::Job {
  Task task;
  void* context;
  PartShares shares;
  std::uint32_t inside = 0;  // workers that hold a pointer to this job
  Job* newer = nullptr;

  void work(std::uint32_t thread) {
    for (std::uint32_t part = 0; shares.take(thread, part);) task(context, part);
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
    while (workers_.size() < threads - 1) {
      const auto thread = static_cast<std::uint32_t>(workers_.size()) + 1;
      workers_.emplace_back([this, thread] { work(thread); });
    }
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
  while (job != nullptr && job->shares.empty()) job = job->newer;
  return job;
}

void Pool::work(std::uint32_t thread) {
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
    job->work(thread);
    lock.lock();
    // The job lives until its run() has the mutex and sees no one inside.
    if (--job->inside == 0) left_.notify_all();
  }
}

void Pool::run(std::uint32_t count, Task task, void* context) {
  if (count < 2 || workers_.empty()) {
    for (std::uint32_t part = 0; part < count; ++part) task(context, part);
    return;
  }
  Job job{task, context, {count, threads()}};
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
  job.work(0);
  std::unique_lock lock(mutex_);
  Job** link = &oldest_;
  while (*link != &job) link = &(*link)->newer;
  *link = job.newer;  // no worker can join any more
  left_.wait(lock, [&job] { return job.inside == 0; });
}

}  // namespace lanewise
