#include <array>

#include <CLI/CLI.hpp>

#include "command.h"
#include "options.h"

namespace lanewise::program {

std::span<const Command* const> commands() {
  static constexpr std::array table{
      &info_command,   &gemv_command,    &dequant_command, &verify_command,      &digest_command,
      &trace_command,  &bench_command,   &tune_command,    &lab_command,         &compare_command,
      &report_command, &devices_command, &synth_command,   &completions_command,
  };
  return table;
}

std::string version_text() {
#if defined(__clang__)
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "g++ " __VERSION__;
#endif
  return fmt::format("lanewise {} (ABI {}, arithmetic version {}), built by {}", lw_version(), lw_abi_version(),
                     lw_arithmetic_version(), compiler);
}

void declare(CLI::App& app, bool* quiet, const std::function<void(Job)>& on_command) {
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", version_text(), "Print the versions and exit");
  app.add_flag("-q,--quiet", *quiet, "No progress, and nothing on stdout but what was asked for by name");
  app.footer(
      "A matrix is named as in the file; NAME[i] is matrix i of a 3-D tensor (experts).\n"
      "Exit codes: 0 all well, 1 a wrong bit or a failed verdict, 2 usage, 3 a bad file or a name that isn't in it,\n"
      "4 a device, kernel or instruction set that isn't here, 5 reading or writing failed, 6 out of memory,\n"
      "7 a fault of the program, 130 interrupted.\n"
      "LANEWISE_ISA=scalar|avx2|avxvnni|avx512|amx|neon|i8mm holds the CPU to that instruction set.\n\n"
      "Begin with:\n"
      "  lanewise synth -o demo.gguf        a small model of every format\n"
      "  lanewise info demo.gguf            what is in it\n"
      "  lanewise verify demo.gguf          every product against independent references\n"
      "  lanewise COMMAND --help            options and examples of a command");
  for (const Command* command : commands()) {
    CLI::App* sub = app.add_subcommand(command->name, command->summary);
    sub->footer(std::string("Examples:\n") + command->examples);
    Arguments arguments(*sub);
    Job job = command->setup(arguments);
    for (CLI::Option* option : sub->get_options([](const CLI::Option* each) { return each->get_expected_max() > 0; })) {
      // Without a name: CLI11 would print it after the option's type.
      option->check(
          [](const std::string& value) { return value.empty() ? std::string("the value is empty") : std::string(); });
    }
    sub->callback([job, on_command] { on_command(job); });
  }
}

}  // namespace lanewise::program
