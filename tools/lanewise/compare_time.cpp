#include "compare_time.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/cpu/cpu.h"
#include "exit_codes.h"
#include "kernels/kernel.h"

namespace lanewise::program {
namespace {

constexpr std::uint64_t walked_without_a_cache = std::uint64_t{1} << 30;
constexpr std::uint64_t caches_to_walk = 4;

// As `bench` chooses: rows16 where this processor has kernels for it.
Layout layout_for(Format format, Planes planes) {
  const FormatInfo& info = format_info(format);
  const bool has = has_layout(Layout::rows16, info) &&
                   find_kernel({format, 16, 256, 1, planes, Layout::rows16}, "cpu", cpu_capabilities(), "") != nullptr;
  return has ? Layout::rows16 : Layout::raw;
}

}  // namespace

Outcome CompareTimes::choose_memory() {
  std::uint64_t largest = 0;
  for (const auto& [key, none] : times_) {
    Case problem;
    std::tie(problem.format, problem.rows, problem.cols) = key;
    problem.layout = layout_for(problem.format, options_.planes);
    largest = std::max(largest, copy_stride(problem));
  }
  const std::uint64_t cache = machine_.last_cache;
  const std::uint64_t wanted = options_.bytes != 0 ? options_.bytes
                               : cache != 0        ? caches_to_walk * cache
                                                   : walked_without_a_cache;
  const std::uint64_t available = available_memory();
  std::uint64_t walked = std::max(wanted, largest);
  if (available != 0 && walked > available / 4) walked = std::max(largest, available / 4);
  if (available != 0 && walked > available / 2) {
    return make_error(LW_ERROR_MEMORY, fmt::format("{} to walk are more than half of the {} of memory that is free",
                                                   human_bytes(walked), human_bytes(available)));
  }
  machine_.walked = walked;
  notes_.push_back(
      fmt::format("times are cold: copies of a matrix of that format and shape in {}, read in turn (last "
                  "cache {}), {} round{}",
                  human_bytes(walked), cache != 0 ? human_bytes(cache) : "unknown", options_.rounds,
                  options_.rounds == 1 ? "" : "s"));
  if (cache != 0 && walked < 2 * cache) {
    notes_.emplace_back("less is walked than two last caches: these times are warm");
  }
  LW_ASSIGN(memory, WalkedMemory::create(walked));
  memory_.emplace(std::move(memory));
  return Done{};
}

Outcome CompareTimes::run(Progress& progress) {
  machine_ = describe_machine(options_.threads, true);
  LW_TRY(choose_memory());
  std::uint64_t done = 0;
  for (auto& [key, us] : times_) {
    if (stop_asked) return Done{};
    BenchGroup group;
    std::tie(group.problem.format, group.problem.rows, group.problem.cols) = key;
    group.problem.layout = layout_for(group.problem.format, options_.planes);
    group.problem.planes = options_.planes;
    group.problem.fill = Fill::random;
    group.tokens = options_.windows;
    group.rounds = options_.rounds;
    group.threads = options_.threads;
    progress.show(
        done++, times_.size(),
        fmt::format("timing {} {}x{}", format_info(group.problem.format).name, group.problem.cols, group.problem.rows));
    LW_ASSIGN(timed, time_group(group, *memory_));
    if (stop_asked) return Done{};
    machine_.threads = timed.threads;
    for (const BenchTime& time : timed.times) {
      us.push_back(time.median_us);
      differing_ += time.differing;
    }
  }
  if (machine_.load > 0.3) {
    notes_.push_back(
        fmt::format("the load average is {:.1f}: other work runs here, and times carry it", machine_.load));
  }
  return Done{};
}

const std::vector<double>& CompareTimes::of(Format format, std::uint64_t rows, std::uint64_t cols) const {
  static const std::vector<double> none;
  const auto found = times_.find({format, rows, cols});
  return found != times_.end() ? found->second : none;
}

}  // namespace lanewise::program
