// The pool: every part once, from any number of callers, with as many threads as there are.
#include "backends/cpu/pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace lanewise {
namespace {

struct Counts {
  std::vector<std::uint32_t> done;  // plain on purpose: the pool orders what the parts write
  explicit Counts(std::uint32_t count) : done(count, 0) {}
  static void task(void* context, std::uint32_t part) { ++static_cast<Counts*>(context)->done[part]; }
  [[nodiscard]] bool all_once() const {
    return std::ranges::all_of(done, [](std::uint32_t times) { return times == 1; });
  }
};

TEST(Pool, EveryPartRunsOnce) {
  for (const unsigned threads : {0u, 1u, 2u, 8u}) {
    Pool pool(threads);
    EXPECT_EQ(pool.threads(), std::max(threads, 1u));
    for (const std::uint32_t count : {0u, 1u, 2u, 3u, 7u, 8u, 1000u}) {
      for (int again = 0; again < 50; ++again) {
        Counts counts(count);
        pool.run(count, Counts::task, &counts);
        ASSERT_TRUE(counts.all_once()) << threads << " threads, " << count << " parts";
      }
    }
  }
}

// Parts that wait for each other end only if as many threads as promised take part.
TEST(Pool, AllThreadsTakePart) {
  constexpr std::uint32_t threads = 4;
  Pool pool(threads);
  std::atomic<std::uint32_t> here = 0;
  const auto meet = [](void* context, std::uint32_t) {
    auto& count = *static_cast<std::atomic<std::uint32_t>*>(context);
    count.fetch_add(1);
    while (count.load() < threads) std::this_thread::yield();
  };
  pool.run(threads, meet, &here);
  EXPECT_EQ(here.load(), threads);
}

TEST(Pool, ManyCallersAtOnce) {
  Pool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int c = 0; c < 6; ++c) {
    callers.emplace_back([&] {
      for (int again = 0; again < 300; ++again) {
        Counts counts(static_cast<std::uint32_t>(1 + again % 17));
        pool.run(static_cast<std::uint32_t>(counts.done.size()), Counts::task, &counts);
        if (!counts.all_once()) wrong.fetch_add(1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Pool, APartMayRunParts) {
  Pool pool(3);
  struct Outer {
    Pool& pool;
    std::atomic<std::uint32_t> inner = 0;
  } outer{pool};
  const auto task = [](void* context, std::uint32_t) {
    auto& mine = *static_cast<Outer*>(context);
    Counts counts(5);
    mine.pool.run(5, Counts::task, &counts);
    if (counts.all_once()) mine.inner.fetch_add(5);
  };
  pool.run(6, task, &outer);
  EXPECT_EQ(outer.inner.load(), 30u);
}

// The system refuses a thread whose stack it can't map: asked for here by a default stack of 64 TiB.
TEST(Pool, WorksWithTheThreadsItGets) {
  pthread_attr_t before;
  pthread_attr_t huge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 46), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  const auto pool = std::make_unique<Pool>(4u);
  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
  EXPECT_EQ(pool->threads(), 1u);
  Counts counts(100);
  pool->run(100, Counts::task, &counts);
  EXPECT_TRUE(counts.all_once());
  pthread_attr_destroy(&huge);
  pthread_attr_destroy(&before);
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(Pool, IdleWorkersUseNoProcessor) {
  Pool pool(8);
  Counts counts(64);
  pool.run(64, Counts::task, &counts);
  const double before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(processor_seconds() - before, 0.1) << "one spinning worker would use 0.3 s";
}

TEST(Pool, WorkersArePinnedToNoProcessorAndBlockSignals) {
  Pool pool(4);
  struct Seen {
    std::thread::id caller = std::this_thread::get_id();
    std::mutex mutex;
    std::atomic<std::uint32_t> here = 0;
    int workers = 0;
    cpu_set_t allowed;
  } seen;
  ASSERT_EQ(pthread_getaffinity_np(pthread_self(), sizeof seen.allowed, &seen.allowed), 0);
  const auto look = [](void* context, std::uint32_t) {
    auto& mine = *static_cast<Seen*>(context);
    mine.here.fetch_add(1);
    while (mine.here.load() < 4) std::this_thread::yield();
    if (std::this_thread::get_id() == mine.caller) return;
    const std::lock_guard lock(mine.mutex);
    ++mine.workers;
    cpu_set_t allowed;
    sigset_t blocked;
    EXPECT_EQ(pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed), 0);
    EXPECT_TRUE(CPU_EQUAL(&allowed, &mine.allowed));
    EXPECT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &blocked), 0);
    EXPECT_EQ(sigismember(&blocked, SIGINT), 1);
    EXPECT_EQ(sigismember(&blocked, SIGTERM), 1);
  };
  pool.run(4, look, &seen);
  EXPECT_EQ(seen.workers, 3);
  sigset_t blocked;
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &blocked), 0);
  EXPECT_EQ(sigismember(&blocked, SIGINT), 0) << "the caller's mask is as it was";
}

TEST(Pool, AChildOfForkWorksAlone) {
  Pool pool(4);
  Counts warm(8);
  pool.run(8, Counts::task, &warm);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the workers sleep
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Counts counts(50);
    pool.run(50, Counts::task, &counts);
    _exit(counts.all_once() && !pool.is_of_this_process() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(pool.is_of_this_process());
}

}  // namespace
}  // namespace lanewise
