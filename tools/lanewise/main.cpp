// lanewise: the program. docs/program.md describes its commands, exit codes and JSON.

#include <cstdio>
#include <new>

#include "command.h"
#include "gguf/escape.h"

namespace lanewise::program {
namespace {

Exit unknown_command(const std::string& word) {
  std::string known;
  for (const Command* command : commands()) known += fmt::format("{}{}", known.empty() ? "" : ", ", command->name);
  return bad_usage(fmt::format("there is no command '{}': there are {}", gguf::escape_for_terminal(word, 40), known));
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
    for (const std::string& word : app.remaining()) {
      if (!word.starts_with('-')) return unknown_command(word);
    }
  }
  std::string command = "lanewise";
  for (const CLI::App* sub : app.get_subcommands()) command += " " + sub->get_name();
  return bad_usage(fmt::format("{}; '{} --help' says what there is", gguf::escape_for_terminal(error.what()), command));
}

Exit run(int argc, char** argv, Context& context, bool* quiet) {
  CLI::App app("Quantised matrix-vector products straight off GGUF files, the same bits on every device.", "lanewise");
  Job job;
  declare(app, quiet, [&job](Job chosen) { job = std::move(chosen); });
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
  Context context{out, false};
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
