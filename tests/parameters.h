// Formats as GoogleTest's parameters: how they are shown and named, those of codes, and their traits.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "formats/formats.h"
#include "formats/traits.h"

namespace lanewise {
// How GoogleTest shows a parameter.
inline void PrintTo(const FormatInfo& info, std::ostream* out) { *out << info.name; }
}  // namespace lanewise

namespace lanewise::test {

using Bytes = std::vector<std::uint8_t>;

inline std::string test_name(const testing::TestParamInfo<FormatInfo>& info) { return std::string(info.param.name); }

inline std::vector<FormatInfo> quantised_formats() {
  std::vector<FormatInfo> chosen;
  for (const FormatInfo& info : formats()) {
    if (!info.is_float()) chosen.push_back(info);
  }
  return chosen;
}

/// Calls `visitor` with the traits of a quantised format.
template <class Visitor>
void with_quantised(const FormatInfo& info, Visitor visitor) {
  with_format(info.format, [&]<class T>(T traits) {
    if constexpr (T::info.is_float()) {
      FAIL() << T::info.name << " has no codes";
    } else {
      visitor(traits);
    }
  });
}

}  // namespace lanewise::test
