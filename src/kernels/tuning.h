// What was measured best for a shape on a device: data that select() takes into account (docs/tuning.md). No bit
// depends on it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "arithmetic/activation.h"
#include "formats/formats.h"
#include "layout/layout.h"

namespace lanewise {

struct KernelDesc;
struct Problem;

/// How a kernel's work is laid out, where that can be chosen. Zeros: as the kernel and the library choose.
struct Setting {
  std::array<std::uint32_t, 4> tiling{};  ///< of a device with memory of its own: Launch::tile
  std::uint32_t ahead = 0;                ///< of a CPU kernel that prefetches: how many bytes ahead
  std::uint32_t parts = 0;                ///< of a CPU: parts that a call is cut into, for so many threads at most

  bool operator==(const Setting&) const = default;
  [[nodiscard]] bool is_default() const { return *this == Setting{}; }
};

/// What an entry is for.
struct TuningKey {
  Format format = Format::F32;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  Planes planes = Planes::x16;  ///< x16 for float weights, which don't look at them
  Layout layout = Layout::raw;
  std::uint32_t threads = 0;  ///< of a CPU; 0 on other devices
  std::uint64_t tokens = 1;   ///< last: entries that differ in it alone stand side by side

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 that the comparison is written with for one
  auto operator<=>(const TuningKey&) const = default;
};
TuningKey key_of(const Problem& problem, std::uint32_t threads);

struct Tuned {
  TuningKey key;
  const KernelDesc* kernel = nullptr;
  Setting setting;
  std::string why;  ///< "tuned on ...", for Plan::why
};

/// Entries by key. Not to be changed while anybody looks something up.
class Tuning {
 public:
  /// Takes the place of the entry of the same key.
  void put(Tuned entry);
  /// The entry of the smallest window of at least the problem's tokens, or the largest window's; null where there is
  /// none of that format, shape, planes, layout and number of threads. Allocates nothing.
  [[nodiscard]] const Tuned* find(const Problem& problem, std::uint32_t threads) const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] const std::vector<Tuned>& entries() const { return entries_; }

 private:
  std::vector<Tuned> entries_;  // ascending by key
};

}  // namespace lanewise
