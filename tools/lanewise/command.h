// A command of the program: its name, what --help says, its options, and the job it does. One file each, one table.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "exit_codes.h"
#include "output.h"

namespace CLI {
class App;
}

namespace lanewise::program {

class Arguments;

/// What every command is given.
struct Context {
  Output& out;
  bool quiet;             ///< no progress, and of the text on stdout only what was asked for by name
  std::string command{};  ///< as a shell takes it, for documents that say how they were made
};

using Job = std::function<Exit(Context&)>;

struct Command {
  const char* name;
  const char* summary;   ///< one line
  const char* examples;  ///< shown under the options
  /// Declares the options and returns the job that reads them; the job is called at most once.
  Job (*setup)(Arguments& arguments);
};

extern const Command bench_command;
extern const Command compare_command;
extern const Command completions_command;
extern const Command dequant_command;
extern const Command devices_command;
extern const Command digest_command;
extern const Command gemv_command;
extern const Command info_command;
extern const Command lab_command;
extern const Command report_command;
extern const Command synth_command;
extern const Command trace_command;
extern const Command tune_command;
extern const Command verify_command;

/// In the order of --help.
std::span<const Command* const> commands();
/// One line: the library's, the ABI's and the arithmetic's version, and the compiler.
std::string version_text();
/// The whole program's options: every command's too.
void declare(CLI::App& app, bool* quiet, const std::function<void(Job)>& on_command);

}  // namespace lanewise::program
