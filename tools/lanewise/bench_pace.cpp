#include "bench_pace.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

namespace lanewise::program {
namespace {

constexpr std::uint32_t steps = 60000;
constexpr std::size_t side_by_side = 6;

double additions_a_nanosecond() {
  using Clock = std::chrono::steady_clock;
  std::array<std::uint64_t, side_by_side> sums{};
  const auto start = Clock::now();
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (std::uint64_t& sum : sums) sum += step;
    // Each is made in a register and for nothing: the compiler may not add them up beforehand.
    asm volatile("" : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3]), "+r"(sums[4]), "+r"(sums[5]));
  }
  const std::chrono::duration<double, std::nano> took = Clock::now() - start;
  return static_cast<double>(steps * side_by_side) / std::max(1.0, took.count());
}

}  // namespace

double look_at_pace(Crew& crew) {
  std::vector<double> paces(crew.threads());
  crew.run([&](std::uint32_t thread) { paces[thread] = additions_a_nanosecond(); });
  return *std::ranges::min_element(paces);
}

}  // namespace lanewise::program
