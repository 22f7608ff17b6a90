#include "selection.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "gguf/escape.h"

namespace lanewise::program {

Result<Format> parse_format(const std::string& name) {
  if (const FormatInfo* info = find_format(name)) return info->format;
  std::string known;
  for (const FormatInfo& info : formats()) known += fmt::format("{}{}", known.empty() ? "" : ", ", info.name);
  return make_error(LW_ERROR_ARGUMENT,
                    fmt::format("there is no format '{}': there are {}", gguf::escape_for_terminal(name, 40), known));
}

Result<std::vector<Format>> parse_formats(const std::vector<std::string>& names) {
  std::vector<Format> list;
  if (names == std::vector<std::string>{"all"}) {
    for (const FormatInfo& info : formats()) list.push_back(info.format);
    return list;
  }
  for (const std::string& name : names) {
    LW_ASSIGN(format, parse_format(name));
    list.push_back(format);
  }
  return list;
}

Result<std::vector<Planes>> parse_planes_list(const std::vector<std::string>& names) {
  std::vector<Planes> list;
  for (const std::string& name : names) {
    auto planes = parse_planes(name);
    if (!planes) return make_error(LW_ERROR_ARGUMENT, planes.error().message);
    list.push_back(*planes);
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

namespace {

// Times that an expression's bounds ({3}, {1,255}) may copy what they stand behind: regcomp() takes time and memory for
// each copy, and bounds behind bounds multiply.
constexpr std::uint64_t most_copies = 10'000;

std::uint64_t copies_asked(std::string_view expression) {
  std::uint64_t copies = 1;
  for (std::size_t i = 0; i < expression.size() && copies <= most_copies; ++i) {
    if (expression[i] == '\\') ++i;
    if (i >= expression.size() || expression[i] != '{') continue;
    std::uint64_t largest = 1;
    std::uint64_t number = 0;
    for (++i; i < expression.size() && expression[i] != '}'; ++i) {
      const char c = expression[i];
      number = c >= '0' && c <= '9'
                   ? std::min<std::uint64_t>(number * 10 + static_cast<std::uint64_t>(c - '0'), most_copies)
                   : 0;
      largest = std::max(largest, number);
    }
    copies *= largest + 1;
  }
  return copies;
}

}  // namespace

// POSIX's and not std::regex: libstdc++'s recurses for every character of a name, and names of a file may be long.
Result<NamePattern> NamePattern::compile(const std::string& expression) {
  NamePattern pattern;
  if (expression.empty()) return pattern;
  if (copies_asked(expression) > most_copies) {
    return make_error(LW_ERROR_ARGUMENT, fmt::format("the bounds of '{}' repeat too much: {} times are the most",
                                                     gguf::escape_for_terminal(expression, 80), most_copies));
  }
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
