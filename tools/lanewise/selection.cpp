#include "selection.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "gguf/escape.h"

namespace lanewise::program {

Result<std::vector<Format>> parse_formats(const std::vector<std::string>& names) {
  std::vector<Format> list;
  for (const std::string& name : names) {
    if (const FormatInfo* info = find_format(name)) {
      list.push_back(info->format);
      continue;
    }
    std::string known;
    for (const FormatInfo& info : formats()) known += fmt::format("{}{}", known.empty() ? "" : ", ", info.name);
    return make_error(LW_ERROR_ARGUMENT,
                      fmt::format("there is no format '{}': there are {}", gguf::escape_for_terminal(name, 40), known));
  }
  return list;
}

Result<std::vector<Planes>> parse_planes_list(const std::vector<std::string>& names) {
  std::vector<Planes> list;
  for (const std::string& name : names) {
    LW_ASSIGN(planes, parse_planes(name));
    list.push_back(planes);
  }
  return list;
}

Result<Layout> parse_layout(std::string_view name) {
  constexpr std::array layouts{
#define LW_LAYOUT(layout, packed) Layout::layout,
#include "layout/layouts.def"
#undef LW_LAYOUT
  };
  std::string known;
  for (const Layout layout : layouts) {
    if (layout_name(layout) == name) return layout;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", layout_name(layout));
  }
  return make_error(LW_ERROR_ARGUMENT,
                    fmt::format("there is no layout '{}': there are {}", gguf::escape_for_terminal(name, 40), known));
}

// POSIX's and not std::regex: libstdc++'s recurses for every character of a name, and names of a file may be long.
Result<NamePattern> NamePattern::compile(const std::string& expression) {
  NamePattern pattern;
  if (expression.empty()) return pattern;
  const int status = ::regcomp(&pattern.compiled_, expression.c_str(), REG_EXTENDED | REG_NOSUB);
  if (status != 0) {
    std::array<char, 128> text{};
    ::regerror(status, &pattern.compiled_, text.data(), text.size());
    return make_error(LW_ERROR_ARGUMENT, fmt::format("'{}' is no regular expression: {}",
                                                     gguf::escape_for_terminal(expression, 80), text.data()));
  }
  pattern.empty_ = false;
  return pattern;
}

NamePattern::NamePattern(NamePattern&& other) noexcept
    : compiled_(other.compiled_), empty_(std::exchange(other.empty_, true)) {}

NamePattern::~NamePattern() {
  if (!empty_) ::regfree(&compiled_);
}

bool NamePattern::matches(const std::string& name) const {
  return empty_ || ::regexec(&compiled_, name.c_str(), 0, nullptr, 0) == 0;
}

}  // namespace lanewise::program
