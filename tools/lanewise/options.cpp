#include "options.h"

namespace lanewise::program {

std::uint64_t parse_number(const std::string& option, std::string_view text, std::uint64_t low, std::uint64_t high) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec == std::errc{} && read.ptr == end && value >= low && value <= high) return value;
  throw CLI::ValidationError(option, fmt::format("a whole number from {} to {} is wanted, not '{}'", low, high,
                                                 gguf::escape_for_terminal(text, 40)));
}

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

CLI::Option* declare_list(CLI::App& app, const std::string& name, std::vector<std::string>* values,
                          const std::string& help) {
  return app.add_option_function<std::string>(
      name, [=](const std::string& text) { *values = parse_list(name, text); }, help);
}

CLI::Option* declare_tokens(CLI::App& app, std::vector<std::uint64_t>* tokens) {
  constexpr std::uint64_t most_tokens = 4096;
  const std::string name = "--tokens";
  const auto read = [=](const std::string& text) {
    tokens->clear();
    for (const std::string& item : parse_list(name, text)) {
      tokens->push_back(parse_number(name, item, 1, most_tokens));
    }
  };
  return app.add_option_function<std::string>(name, read, "Windows: tokens in one call (default: 1,2,4,8)")
      ->type_name("N,...");
}

}  // namespace lanewise::program
