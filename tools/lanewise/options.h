// Options of the command line as CLI11 doesn't read them by itself: one word each, decimal numbers alone, lists without
// gaps. An option whose value is empty is refused by declare() (commands.cpp): it is an unset variable of a script, and
// taking it for "not given" would do something that nobody asked for.
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "gguf/escape.h"

namespace lanewise::program {

/// The number that the text is: figures alone, `low` to `high`. Throws CLI::ValidationError.
std::uint64_t parse_number(const std::string& option, std::string_view text, std::uint64_t low, std::uint64_t high);
/// "a,b,c" as its items, none of them empty. Throws CLI::ValidationError.
std::vector<std::string> parse_list(const std::string& option, std::string_view text);

/// --name N.
template <class T>
CLI::Option* declare_number(CLI::App& app, const std::string& name, T* value, std::uint64_t low, std::uint64_t high,
                            const std::string& help) {
  return app
      .add_option_function<std::string>(
          name, [=](const std::string& text) { *value = static_cast<T>(parse_number(name, text, low, high)); }, help)
      ->type_name("N");
}

/// --name a,b,c: one word, so that what follows it is an argument again.
CLI::Option* declare_list(CLI::App& app, const std::string& name, std::vector<std::string>* values,
                          const std::string& help);
/// --tokens 1,2,4: windows.
CLI::Option* declare_tokens(CLI::App& app, std::vector<std::uint64_t>* tokens);

}  // namespace lanewise::program
