// Options that choose among formats, tensors, tokens and planes, given as lists: "1,2,4".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <regex.h>

#include "arithmetic/activation.h"
#include "formats/formats.h"
#include "layout/layout.h"

namespace lanewise::program {

/// Errors of all four: LW_ERROR_ARGUMENT, with the names there are.
Result<Format> parse_format(const std::string& name);
/// Those that are named; of "all" alone, all.
Result<std::vector<Format>> parse_formats(const std::vector<std::string>& names);
Result<std::vector<Planes>> parse_planes_list(const std::vector<std::string>& names);
Result<Layout> parse_layout(std::string_view name);

/// A POSIX extended regular expression, sought anywhere in a name. An empty one matches everything.
class NamePattern {
 public:
  /// Errors: LW_ERROR_ARGUMENT.
  static Result<NamePattern> compile(const std::string& expression);
  NamePattern(NamePattern&& other) noexcept;
  NamePattern& operator=(NamePattern&&) = delete;
  NamePattern(const NamePattern&) = delete;
  NamePattern& operator=(const NamePattern&) = delete;
  ~NamePattern();

  [[nodiscard]] bool matches(const std::string& name) const;

 private:
  NamePattern() = default;
  regex_t compiled_{};
  bool empty_ = true;
};

}  // namespace lanewise::program
