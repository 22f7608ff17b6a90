#include "options.h"

#include <charconv>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "gguf/escape.h"

namespace lanewise::program {
namespace {

// The number that the text is: figures alone. Throws CLI::ValidationError.
std::uint64_t parse_number(const std::string& option, std::string_view text, std::uint64_t low, std::uint64_t high) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec == std::errc{} && read.ptr == end && value >= low && value <= high) return value;
  throw CLI::ValidationError(option, fmt::format("a whole number from {} to {} is wanted, not '{}'", low, high,
                                                 gguf::escape_for_terminal(text, 40)));
}

// "a,b,c" as its items, none of them empty. Throws CLI::ValidationError.
std::vector<std::string> parse_list(const std::string& option, std::string_view text) {
  std::vector<std::string> items;
  for (std::size_t begin = 0;;) {
    const std::size_t comma = text.find(',', begin);
    const std::string_view item = text.substr(begin, comma - begin);
    if (item.empty()) {
      throw CLI::ValidationError(option,
                                 fmt::format("an item of the list '{}' is empty", gguf::escape_for_terminal(text, 40)));
    }
    items.emplace_back(item);
    if (comma == std::string_view::npos) return items;
    begin = comma + 1;
  }
}

}  // namespace

Argument Argument::type_name(const std::string& name) const { return Argument(option_->type_name(name)); }
Argument Argument::required() const { return Argument(option_->required()); }
Argument Argument::excludes(const Argument& other) const { return Argument(option_->excludes(other.option_)); }
Argument Argument::needs(const Argument& other) const { return Argument(option_->needs(other.option_)); }
Argument Argument::one_of(const std::vector<std::string>& values) const {
  return Argument(option_->check(CLI::IsMember(values)));
}
Argument Argument::within(double low, double high) const { return Argument(option_->check(CLI::Range(low, high))); }
bool Argument::given() const { return option_->count() != 0; }
std::string Argument::name() const { return option_->get_name(); }

std::string first_given(const std::vector<Argument>& list) {
  for (const Argument& argument : list) {
    if (argument.given()) return argument.name();
  }
  return {};
}

Argument Arguments::option(const std::string& name, std::string* value, const std::string& help) {
  return Argument(app_.add_option(name, *value, help));
}
Argument Arguments::option(const std::string& name, double* value, const std::string& help) {
  return Argument(app_.add_option(name, *value, help));
}
Argument Arguments::option(const std::string& name, std::vector<std::string>* values, const std::string& help) {
  return Argument(app_.add_option(name, *values, help));
}
Argument Arguments::flag(const std::string& name, bool* value, const std::string& help) {
  return Argument(app_.add_flag(name, *value, help));
}

Argument Arguments::number(const std::string& name, const std::function<void(std::uint64_t)>& keep, std::uint64_t low,
                           std::uint64_t high, const std::string& help) {
  const auto read = [=](const std::string& text) { keep(parse_number(name, text, low, high)); };
  return Argument(app_.add_option_function<std::string>(name, read, help)).type_name("N");
}

Argument Arguments::list(const std::string& name, std::vector<std::string>* values, const std::string& help) {
  const auto read = [=](const std::string& text) { *values = parse_list(name, text); };
  return Argument(app_.add_option_function<std::string>(name, read, help));
}

Argument Arguments::tokens(std::vector<std::uint64_t>* values) {
  constexpr std::uint64_t most_tokens = 4096;
  const std::string name = "--tokens";
  const auto read = [=](const std::string& text) {
    values->clear();
    for (const std::string& item : parse_list(name, text)) {
      values->push_back(parse_number(name, item, 1, most_tokens));
    }
  };
  return Argument(app_.add_option_function<std::string>(name, read, "Windows: tokens in one call (default: 1,2,4,8)"))
      .type_name("N,...");
}

Argument Arguments::model(std::string* path) {
  return option("model", path, "A GGUF file; any shard of a split one; '-' is stdin").required().type_name("MODEL");
}

Argument Arguments::tensor(std::string* name) {
  return option("tensor", name, "A tensor's name; NAME[i] for matrix i of several").required().type_name("TENSOR");
}

}  // namespace lanewise::program
