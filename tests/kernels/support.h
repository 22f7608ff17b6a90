// What the tests of this folder share: the formats of codes as test parameters, and shapes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "formats/formats.h"
#include "formats/traits.h"

namespace lanewise {
// How GoogleTest shows a parameter.
inline void PrintTo(const FormatInfo& info, std::ostream* out) { *out << info.name; }
}  // namespace lanewise

namespace lanewise::test {

using Bytes = std::vector<std::uint8_t>;

inline std::string format_test_name(const testing::TestParamInfo<FormatInfo>& info) {
  return std::string(info.param.name);
}

inline std::vector<FormatInfo> formats_of_codes() {
  std::vector<FormatInfo> chosen;
  for (const FormatInfo& info : formats()) {
    if (!info.is_float()) chosen.push_back(info);
  }
  return chosen;
}

/// Calls `visitor` with the traits of a format of codes.
template <class Visitor>
void with_codes(const FormatInfo& info, Visitor visitor) {
  with_format(info.format, [&]<class T>(T traits) {
    if constexpr (T::info.is_float()) {
      FAIL() << T::info.name << " has no codes";
    } else {
      visitor(traits);
    }
  });
}

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
