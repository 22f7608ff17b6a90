// The registry of layouts: layouts.def as C++ sees it.
#pragma once

#include <cstdint>
#include <string_view>

namespace lanewise {

enum class Layout : std::uint8_t {
#define LW_LAYOUT(name, packed) name,
#include "layout/layouts.def"
#undef LW_LAYOUT
};

constexpr std::string_view layout_name(Layout layout) {
  switch (layout) {
#define LW_LAYOUT(name, packed) \
  case Layout::name:            \
    return #name;
#include "layout/layouts.def"
#undef LW_LAYOUT
  }
  return "?";
}

}  // namespace lanewise
