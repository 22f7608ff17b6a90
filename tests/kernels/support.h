// What the tests of this folder share: shapes.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/formats.h"
#include "parameters.h"

namespace lanewise::test {

/// K: parts of a super-block, whole ones fewer than the eight of a sum and more, counts that eight doesn't divide,
/// short last ones.
inline constexpr std::uint64_t widths[] = {32, 96, 160, 256, 512, 640, 768, 896, 1152, 1280, 2304, 2880, 4352, 14336};

/// Those that the format's block divides.
inline std::vector<std::uint64_t> widths_of(const FormatInfo& info) {
  std::vector<std::uint64_t> chosen;
  for (const std::uint64_t cols : widths) {
    if (cols % info.block_elements == 0) chosen.push_back(cols);
  }
  return chosen;
}

}  // namespace lanewise::test
