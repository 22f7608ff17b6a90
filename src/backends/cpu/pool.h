// Threads that share the parts of a call. A convenience: callers with threads of their own don't need it.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace lanewise {

/// Workers that sleep on a condition variable between calls: they are pinned to no processor and never spin. They block
/// every signal, so that the handlers of the program run on its own threads.
///
/// Any number of threads may call run() at the same time: each works on its own call, and the workers join the oldest
/// that has parts left. A task may call run() itself. In a child made by fork() (while no call runs) there are no
/// workers: the calling thread does all parts there, and the pool must be left undestroyed, since nobody would answer.
class Pool {
 public:
  using Task = void (*)(void* context, std::uint32_t part);

  /// `threads` counts the thread that calls run(), so one less is started; 0 counts as 1. Where the system refuses to
  /// start a thread (or memory is short), the pool works with those it has: threads() says how many. Throws nothing.
  explicit Pool(unsigned threads) noexcept;
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Runs task(context, i) once for each i in 0 .. count-1, on the calling thread and the workers, in any order, and
  /// returns when all are done. What the caller wrote before is visible to every task, and what they wrote, afterwards,
  /// to the caller. Tasks don't throw. Allocates nothing.
  void run(std::uint32_t count, Task task, void* context);

  /// That a call can use, the calling one included.
  [[nodiscard]] unsigned threads() const { return static_cast<unsigned>(workers_.size()) + 1; }

  /// False in a child made by fork().
  [[nodiscard]] bool is_of_this_process() const;

 private:
  struct Job;
  void work(std::uint32_t thread);
  Job* job_with_parts() const;

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;  // a job came, or stop_
  std::condition_variable left_;  // the last worker inside a job has left it
  Job* oldest_ = nullptr;         // jobs, each on the stack of its run()
  bool stop_ = false;
  pid_t process_;
};

}  // namespace lanewise
