#include "tune/candidates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "backends/cpu/cpu.h"
#include "backends/cpu/prefetch.h"
#include "kernels/parts.h"
#include "tune/tile.h"

namespace lanewise::tune {
namespace {

double bytes_of(const Problem& problem) {
  return static_cast<double>(MatrixView{problem.format, problem.rows, problem.cols, nullptr}.bytes());
}
double super_blocks_of(const Problem& problem) { return static_cast<double>(ceil_div(problem.cols, super_block)); }
// Tokens that a kernel has in one pass over W.
double window_of(const Problem& problem) { return static_cast<double>(std::min<std::uint64_t>(problem.tokens, 8)); }

// ---- The CPU ----

constexpr std::array<std::uint32_t, 6> distances{4096, 6144, 8192, 16384, 24576, 32768};
constexpr double clock_ghz = 3;
// Of sixteen rows of 256 elements (docs/cpu.md, What bought what): about 200 cycles at one token, twice as many at
// three, and twice that where a register has eight lanes.
constexpr double cycles_at_one = 200;
constexpr double cycles_a_token = 0.45;
constexpr double scalar_cycles = 3;  // a weight and token
// Waking the pool's threads, and handing out a part.
constexpr double wake_us = 15;
constexpr double part_us = 0.1;
// A thread that is held up delays a call by a part of its share, so much of the time where each has one part.
constexpr double held_up = 0.10;
// Cold reads get slower by so much for each doubling of the distance from the usual one.
constexpr double a_doubling = 0.03;

double cpu_us(const Machine& machine, const Problem& problem, const KernelDesc& kernel, const Setting& setting) {
  const double bytes = bytes_of(problem);
  const double tiles = static_cast<double>(problem.rows) / 16 * super_blocks_of(problem);
  double cycles = cycles_at_one * (1 + cycles_a_token * (window_of(problem) - 1));
  if (kernel.needs == CAP_NONE) {
    cycles = 16 * super_block * scalar_cycles * window_of(problem);
  } else if ((kernel.needs & CAP_AVX512) == 0) {
    cycles *= 2;
  }
  const double compute = tiles * cycles / clock_ghz / 1e3;
  const double distance = setting.ahead == 0 ? 1.0 : static_cast<double>(setting.ahead) / double{prefetch_ahead};
  const double memory = bytes / machine.read_gbps / 1e3 * (1 + a_doubling * std::abs(std::log2(distance)));
  const std::uint32_t parts = parts_of(machine, problem, setting);
  const std::uint32_t threads = std::min(parts, machine.threads);
  double us = std::hypot(compute, memory) / threads;
  if (threads == 1) return us;
  us *= 1 + held_up * threads / parts;
  return us + wake_us + part_us * parts / threads;
}

void add_cpu(const Machine& machine, const Problem& problem, const KernelDesc& kernel, std::vector<Candidate>& list) {
  std::vector<std::uint32_t> parts{0};
  const std::uint32_t usual = parts_of(machine, problem, {});
  for (const std::uint32_t wanted :
       {1U, machine.threads, 2 * machine.threads, 4 * machine.threads, 8 * machine.threads}) {
    if (machine.threads == 1) break;
    Setting setting;
    setting.parts = wanted;
    const bool is_new = wanted != usual && std::ranges::count(parts, wanted) == 0;
    if (is_new && parts_of(machine, problem, setting) == wanted) parts.push_back(wanted);
  }
  std::vector<std::uint32_t> ahead{0};
  if (prefetches_ahead(kernel)) ahead.insert(ahead.end(), distances.begin(), distances.end());
  for (const std::uint32_t each : ahead) {
    for (const std::uint32_t count : parts) list.push_back({&kernel, {{}, each, count}, 0});
  }
}

// ---- GPUs ----

// What a multiprocessor reads a second, and how long a read takes: an H200's 4 TB/s among 132, and its microsecond.
constexpr double processor_gbps = 30;
constexpr double latency_us = 1;
constexpr double gpu_ghz = 1.7;
constexpr double launch_us = 2;
// A batch of tiles ends at a barrier and the eight partial sums are added.
constexpr double batch_us = 0.15;
// Instructions of a super-block of a tile at one token, and for each further one; issued in a cycle by one group of
// eight warps and by more (docs/cuda.md, What stands in the way).
constexpr double frag_instructions = 180;
constexpr double frag_instructions_a_token = 30;
constexpr double one_group_issues = 1.6;
constexpr double groups_issue = 2.6;
constexpr double shared_most = 227 * 1024;

double frag_us(const Machine& machine, const Problem& problem, const std::array<std::uint32_t, 4>& tiling) {
  const double processors = std::max(machine.gpu->info().multiprocessors, 1U);
  const double tile_bytes = 16 * super_block * format_info(problem.format).bits_per_weight() / 8;
  const double blocks = super_blocks_of(problem);
  const double tiles = std::ceil(static_cast<double>(problem.rows) / 16);
  const double eighth = std::ceil(blocks / 8);
  const bool is_single = tiles <= processors;
  // As frag_shape() chooses where the tiling leaves it to it.
  const double groups = tiling[0] != 0 ? tiling[0] : is_single ? 1 : tiles < 12 * processors ? 2 : 3;
  const double a_group = std::ceil(tiles / (processors * groups));
  const double copy_most = is_single ? 9216 : a_group == 1 ? 0 : 2700;
  const double chunk = std::clamp(tiling[1] != 0 ? tiling[1] : std::floor(copy_most / tile_bytes), 1.0, eighth);
  const double flight_most = is_single || a_group > 1 ? 96 * 1024 : 48 * 1024;
  const double copies = a_group * std::ceil(eighth / chunk);
  const double wanted = tiling[2] != 0 ? tiling[2] : std::floor(flight_most / (groups * 8 * chunk * tile_bytes));
  const double stages = std::min(std::clamp(wanted, 2.0, 8.0), copies);
  const double outputs = window_of(problem) <= 1 ? 16 : window_of(problem) <= 4 ? 64 : 128;
  const double batch = std::clamp(a_group, 1.0, tiling[3] != 0 ? double(tiling[3]) : std::max(128 / outputs, 4.0));

  const double flight = groups * 8 * stages * chunk * tile_bytes;
  const double x = blocks * super_block * plane_count(problem.planes) * window_of(problem);
  const double sums = groups * 2 * batch * 8 * outputs * 4;
  if (flight + sums + (x < shared_most / 2 ? x : 0) > shared_most) return 1e12;  // more than fits is less: no tile
  const double in_time = std::min(1.0, flight / (processor_gbps * 1e3 * latency_us));
  const double busiest = std::min(groups * a_group, tiles);
  const double memory = busiest * blocks * tile_bytes / (processor_gbps * 1e3 * in_time);
  const double instructions = frag_instructions + frag_instructions_a_token * (window_of(problem) - 1);
  const double compute =
      busiest * blocks * instructions * 8 / 8 / ((groups > 1 ? groups_issue : one_group_issues) * gpu_ghz * 1e3);
  // What was asked for first stands in the queue behind all that was asked for at once.
  const double queue = latency_us + flight / (processor_gbps * 1e3);
  return launch_us + queue + std::max(memory, compute) + batch_us * std::ceil(a_group / batch);
}

double gpu_us(const Machine& machine, const Problem& problem, const KernelDesc& kernel, const Setting& setting) {
  if (kernel.layout == Layout::frag) return frag_us(machine, problem, setting.tiling);
  // Families without a model: what differs least from the default first.
  const double processors = std::max(machine.gpu->info().multiprocessors, 1U);
  const double us = launch_us + bytes_of(problem) / (processor_gbps * processors) / 1e3;
  return us * (1 + 0.01 * static_cast<double>(std::ranges::count_if(setting.tiling, [](auto n) { return n != 0; })));
}

void add_gpu(const Machine& machine, const KernelDesc& kernel, std::vector<Candidate>& list) {
  const std::span<const gpu::TilingAxis> axes = machine.gpu->tiling_axes(kernel);
  std::vector<std::array<std::uint32_t, 4>> tilings{{}};
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const std::size_t before = tilings.size();
    for (std::size_t i = 0; i < before; ++i) {
      for (const std::uint32_t value : axes[axis].values) {
        std::array<std::uint32_t, 4> tiling = tilings[i];
        tiling[axis] = value;
        tilings.push_back(tiling);
      }
    }
  }
  for (const auto& tiling : tilings) {
    const bool is_default = tiling == std::array<std::uint32_t, 4>{};
    if (is_default || machine.gpu->takes_tiling(kernel, tiling)) list.push_back({&kernel, {tiling, 0, 0}, 0});
  }
}

}  // namespace

std::string Candidate::text() const { return tile_text(kernel->name, setting); }

std::uint32_t parts_of(const Machine& machine, const Problem& problem, const Setting& setting) {
  return count_parts(problem.rows, MatrixView{problem.format, problem.rows, problem.cols, nullptr}.bytes(),
                     problem.tokens, setting.parts != 0 ? setting.parts : most_parts(machine.threads));
}

double predicted_us(const Machine& machine, const Problem& problem, const KernelDesc& kernel, const Setting& setting) {
  return machine.gpu == nullptr ? cpu_us(machine, problem, kernel, setting) : gpu_us(machine, problem, kernel, setting);
}

std::vector<Candidate> candidates(const Machine& machine, const Problem& problem) {
  std::vector<Candidate> list;
  const KernelDesc* const usual = find_kernel(problem, machine.backend, machine.capabilities);
  if (usual == nullptr) return list;
  const FormatInfo& info = format_info(problem.format);
  for (const KernelDesc& kernel : kernels(machine.backend)) {
    const bool can_run = kernel.layout == problem.layout && accepts(kernel.formats, info) &&
                         (kernel.needs & ~machine.capabilities) == 0 &&
                         (machine.gpu == nullptr ? is_built(kernel, problem.format)
                                                 : machine.gpu->has_kernel(kernel, problem.format) &&
                                                       machine.gpu->has_layout(problem.layout, problem.format));
    if (!can_run) continue;
    if (machine.gpu == nullptr) {
      add_cpu(machine, problem, kernel, list);
    } else {
      add_gpu(machine, kernel, list);
    }
  }
  for (Candidate& each : list) each.predicted_us = predicted_us(machine, problem, *each.kernel, each.setting);
  std::ranges::stable_sort(list, [&](const Candidate& a, const Candidate& b) {
    const auto rank = [&](const Candidate& c) { return c.kernel == usual && c.setting.is_default() ? 0 : 1; };
    return std::pair(rank(a), a.predicted_us) < std::pair(rank(b), b.predicted_us);
  });
  return list;
}

}  // namespace lanewise::tune
