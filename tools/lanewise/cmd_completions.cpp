// completions: a shell's completion script, made from the same declarations as --help, so that it can't lag behind.

#include <memory>

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "command.h"
#include "device.h"
#include "harness/fill.h"
#include "layout/layout.h"
#include "options.h"

namespace lanewise::program {
namespace {

struct CompletionsOptions {
  std::string shell;
};

struct OptionFacts {
  std::vector<std::string> flags;  // "--json", "-q"
  std::string description;
  bool takes_value = false;
  bool takes_file = false;
  bool takes_list = false;          // "a,b,c"
  std::vector<std::string> values;  // where they can be listed
};

struct CommandFacts {
  std::string name;
  std::string summary;
  std::vector<OptionFacts> options;
  std::vector<std::string> values;  // of the first positional argument, where they can be listed
  bool takes_file = false;          // as a positional argument
};

// What may stand where --help prints this type; CLI11 adds what is allowed to its name ("SHELL:{bash,zsh,fish}").
std::vector<std::string> values_of(const std::string& printed) {
  const std::string type = printed.substr(0, printed.find(':'));
  std::vector<std::string> list;
  if (type == "D") {
    for (const DeviceEntry& entry : device_entries()) {
      if (entry.why_not.empty()) list.push_back(entry.name);
    }
  } else if (type == "A" || type == "A,...") {
    list = {"x8", "x16", "x24"};
  } else if (type == "F,...") {
    for (const FormatInfo& info : formats()) list.emplace_back(info.name);
  } else if (type == "FILL") {
    for (const Fill fill : all_fills) list.emplace_back(fill_name(fill));
  } else if (type == "L") {
#define LW_LAYOUT(name, packed) list.emplace_back(#name);
#include "layout/layouts.def"
#undef LW_LAYOUT
  } else if (type == "SHELL") {
    list = {"bash", "zsh", "fish"};
  }
  return list;
}

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  for (const std::string& name : option.get_snames()) facts.flags.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.flags.push_back("--" + name);
  facts.description = option.get_description();
  facts.takes_value = option.get_items_expected_max() > 0;
  facts.takes_file = option.get_type_name() == "FILE" || option.get_type_name() == "DIR";
  facts.takes_list = option.get_type_name().ends_with(",...");
  facts.values = values_of(option.get_type_name());
  return facts;
}

std::vector<CommandFacts> all_facts(std::vector<OptionFacts>* global) {
  CLI::App app("", "lanewise");
  bool quiet = false;
  declare(app, &quiet, [](const Job&) {});
  for (const CLI::Option* option : app.get_options()) global->push_back(facts_of(*option));
  std::vector<CommandFacts> list;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    CommandFacts command;
    command.name = sub->get_name();
    command.summary = sub->get_description();
    for (const CLI::Option* option : sub->get_options()) {
      if (!option->get_positional()) {
        command.options.push_back(facts_of(*option));
        continue;
      }
      if (option->get_type_name().find("MODEL") != std::string::npos) command.takes_file = true;
      if (command.values.empty()) command.values = values_of(option->get_type_name());
    }
    list.push_back(std::move(command));
  }
  return list;
}

std::vector<std::string> flags_of(const CommandFacts& command, const std::vector<OptionFacts>& global) {
  std::vector<std::string> flags;
  for (const auto* options : {&command.options, &global}) {
    for (const OptionFacts& option : *options) flags.insert(flags.end(), option.flags.begin(), option.flags.end());
  }
  return flags;
}

void bash(Output& out, const std::vector<CommandFacts>& commands, const std::vector<OptionFacts>& global) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const CommandFacts& command : commands) names.push_back(command.name);
  out.print(
      "# bash completion of lanewise: lanewise completions bash > ~/.local/share/bash-completion/completions/lanewise\n"
      "_lanewise() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command='' i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    [[ ${{COMP_WORDS[i]}} == -* ]] || {{ command=${{COMP_WORDS[i]}}; break; }}\n"
      "  done\n"
      "  COMPREPLY=()\n"
      "  case $command:$previous in\n");
  for (const CommandFacts& command : commands) {
    for (const OptionFacts& option : command.options) {
      if (!option.takes_value) continue;
      std::string patterns;
      for (const std::string& flag : option.flags) {
        patterns += fmt::format("{}{}:{}", patterns.empty() ? "" : "|", command.name, flag);
      }
      if (!option.values.empty()) {
        // Of a list, its last item.
        out.print("    {}) mapfile -t COMPREPLY < <(compgen {}); return ;;\n", patterns,
                  fmt::format(fmt::runtime(option.takes_list
                                               ? R"(-P "${{current%"${{current##*,}}"}}" -W '{}' -- "${{current##*,}}")"
                                               : R"(-W '{}' -- "$current")"),
                              fmt::join(option.values, " ")));
      } else if (option.takes_file) {
        out.print("    {}) mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;\n", patterns);
      } else {
        out.print("    {}) return ;;\n", patterns);
      }
    }
  }
  out.text("  esac\n  case $command in\n");
  for (const CommandFacts& command : commands) {
    out.print("    {})\n      mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\")\n", command.name,
              fmt::join(flags_of(command, global), " "));
    if (command.takes_file)
      out.text("      [[ $current == -* ]] || mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n");
    if (!command.values.empty()) {
      out.print("      [[ $current == -* ]] || mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\")\n",
                fmt::join(command.values, " "));
    }
    out.text("      ;;\n");
  }
  out.print(
      "    '') mapfile -t COMPREPLY < <(compgen -W '{} {}' -- \"$current\") ;;\n"
      "  esac\n"
      "}}\n"
      "complete -o filenames -F _lanewise lanewise\n",
      fmt::join(names, " "), fmt::join(flags_of({}, global), " "));
}

// Text inside single quotes of a shell, and of zsh's option descriptions.
std::string escaped(const std::string& text, const char* special) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (std::string_view(special).find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

void zsh(Output& out, const std::vector<CommandFacts>& commands, const std::vector<OptionFacts>& global) {
  const auto specs = [&out](const std::vector<OptionFacts>& options) {
    for (const OptionFacts& option : options) {
      std::string action;
      if (!option.values.empty()) {
        action = fmt::format(":value:({})", fmt::join(option.values, " "));
      } else if (option.takes_file) {
        action = ":file:_files";
      } else if (option.takes_value) {
        action = ":value: ";
      }
      for (const std::string& flag : option.flags) {
        out.print(" \\\n        '{}[{}]{}'", flag, escaped(option.description, "[]:"), action);
      }
    }
  };
  out.text(
      "#compdef lanewise\n"
      "# zsh completion of lanewise: lanewise completions zsh > a directory of $fpath, as _lanewise\n"
      "_lanewise() {\n"
      "  local -a commands\n"
      "  commands=(\n");
  for (const CommandFacts& command : commands) {
    out.print("    '{}:{}'\n", command.name, escaped(command.summary, ":"));
  }
  out.text(
      "  )\n"
      "  local state line\n"
      "  _arguments -C '1:command:->command' '*::argument:->arguments'");
  specs(global);
  out.text(
      "\n"
      "  case $state in\n"
      "    command) _describe command commands ;;\n"
      "    arguments)\n"
      "      case $words[1] in\n");
  for (const CommandFacts& command : commands) {
    out.print("      {}) _arguments", command.name);
    specs(command.options);
    if (command.takes_file) out.text(" \\\n        '*:file:_files'");
    if (!command.values.empty()) out.print(" \\\n        '1:value:({})'", fmt::join(command.values, " "));
    out.text(" ;;\n");
  }
  out.text(
      "      esac ;;\n"
      "  esac\n"
      "}\n"
      "_lanewise \"$@\"\n");
}

void fish(Output& out, const std::vector<CommandFacts>& commands, const std::vector<OptionFacts>& global) {
  const auto line = [&out](const std::string& condition, const OptionFacts& option) {
    out.print("complete -c lanewise -n '{}'", condition);
    for (const std::string& flag : option.flags) {
      const bool is_long = flag.starts_with("--");
      out.print(" {} {}", is_long ? "-l" : "-s", flag.substr(is_long ? 2 : 1));
    }
    if (!option.values.empty()) {
      out.print(" -x -a '{}'", fmt::join(option.values, " "));
    } else if (option.takes_value) {
      out.text(option.takes_file ? " -r -F" : " -x");
    }
    out.print(" -d '{}'\n", escaped(option.description, ""));
  };
  out.text(
      "# fish completion of lanewise: lanewise completions fish > ~/.config/fish/completions/lanewise.fish\n"
      "complete -c lanewise -f\n");
  for (const OptionFacts& option : global) line("true", option);
  for (const CommandFacts& command : commands) {
    const std::string seen = "__fish_seen_subcommand_from " + command.name;
    out.print("complete -c lanewise -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
              escaped(command.summary, ""));
    if (command.takes_file) out.print("complete -c lanewise -n '{}' -F\n", seen);
    if (!command.values.empty())
      out.print("complete -c lanewise -n '{}' -a '{}'\n", seen, fmt::join(command.values, " "));
    for (const OptionFacts& option : command.options) line(seen, option);
  }
}

Exit completions(Context& context, const CompletionsOptions& options) {
  std::vector<OptionFacts> global;
  const std::vector<CommandFacts> commands = all_facts(&global);
  if (options.shell == "bash") bash(context.out, commands, global);
  if (options.shell == "zsh") zsh(context.out, commands, global);
  if (options.shell == "fish") fish(context.out, commands, global);
  return exit_ok;
}

Job setup_completions(Arguments& arguments) {
  auto options = std::make_shared<CompletionsOptions>();
  arguments.option("shell", &options->shell, "bash, zsh or fish")
      .required()
      .one_of({"bash", "zsh", "fish"})
      .type_name("SHELL");
  return [options](Context& context) { return completions(context, *options); };
}

}  // namespace

const Command completions_command{"completions", "Print a shell's completion script",
                                  "  lanewise completions bash > ~/.local/share/bash-completion/completions/lanewise\n"
                                  "  lanewise completions zsh > ~/.zfunc/_lanewise\n"
                                  "  lanewise completions fish > ~/.config/fish/completions/lanewise.fish",
                                  setup_completions};

}  // namespace lanewise::program
