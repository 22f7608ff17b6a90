// lanewise: the program. docs/program.md describes its commands, exit codes and JSON.

#include <algorithm>
#include <cstdio>
#include <new>
#include <optional>

#include <CLI/CLI.hpp>

#include "command.h"
#include "gguf/escape.h"

namespace lanewise::program {
namespace {

Exit unknown_command(const std::string& word) {
  std::string known;
  for (const Command* command : commands()) known += fmt::format("{}{}", known.empty() ? "" : ", ", command->name);
  if (word.empty())
    return bad_usage(fmt::format("a command is missing: there are {}; 'lanewise --help' explains", known));
  return bad_usage(fmt::format("there is no {} '{}': there are {}; 'lanewise --help' explains",
                               word.starts_with('-') ? "option" : "command", gguf::escape_for_terminal(word, 40),
                               known));
}

// --help, --version and mistakes of the command line.
Exit parse_outcome(const CLI::App& app, const CLI::ParseError& error, Context& context) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    if (dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr) {
      context.out.print("{}\n", version_text());
    } else {
      context.out.text(app.help());
    }
    return exit_ok;
  }
  // CLI11 says of an unknown command that one is missing.
  if (app.get_subcommands().empty()) {
    const std::vector<std::string> words = app.remaining();
    const auto command = std::ranges::find_if(words, [](const std::string& word) { return !word.starts_with('-'); });
    if (command != words.end()) return unknown_command(*command);
    return unknown_command(words.empty() ? "" : words.front());
  }
  std::string command = "lanewise";
  for (const CLI::App* sub : app.get_subcommands()) command += " " + sub->get_name();
  return bad_usage(fmt::format("{}; '{} --help' says what there is", gguf::escape_for_terminal(error.what()), command));
}

// CLI11 takes the word after "--json=" for its value: with an unset variable there, a model would be written over.
std::optional<std::string> option_without_value(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view word(argv[i]);
    if (word.starts_with("--") && word.ends_with('=')) return std::string(word.substr(0, word.size() - 1));
  }
  return std::nullopt;
}

// As a shell would take it. What is no plain word stands in quotes.
std::string command_line(int argc, char** argv) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%";
  std::string line = "lanewise";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word(argv[i]);
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) {
      line += fmt::format(" {}", word);
      continue;
    }
    line += " '";
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += "'";
  }
  return line;
}

Exit run(int argc, char** argv, Context& context, bool* quiet) {
  CLI::App app("Quantised matrix-vector products straight off GGUF files, the same bits on every device.", "lanewise");
  Job job;
  declare(app, quiet, [&job](Job chosen) { job = std::move(chosen); });
  if (const auto option = option_without_value(argc, argv)) {
    return bad_usage(fmt::format("{}: the value is empty", gguf::escape_for_terminal(*option, 40)));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return parse_outcome(app, error, context);
  }
  context.quiet = *quiet;
  return job(context);
}

int main_program(int argc, char** argv) {
  install_signal_handlers();
  Output out;
  Context context{out, false, command_line(argc, argv)};
  bool quiet = false;
  Exit exit = exit_internal;
  try {
    exit = run(argc, argv, context, &quiet);
  } catch (const std::bad_alloc&) {
    exit = make_error(LW_ERROR_MEMORY, "the memory doesn't suffice");
  } catch (const std::exception& error) {
    exit = make_error(LW_ERROR_INTERNAL, fmt::format("a fault of the program: {}", error.what()));
  }
  // What was found out before an error is shown too; a write that fails changes success into failure.
  if (Outcome flushed = out.flush(); !flushed && exit.fault() == nullptr) exit = std::move(flushed).error();
  if (exit.fault() != nullptr) std::fprintf(stderr, "%s\n", error_line(exit.fault()->error).c_str());
  return exit.code();
}

}  // namespace
}  // namespace lanewise::program

int main(int argc, char** argv) { return lanewise::program::main_program(argc, argv); }
