// Options and arguments of the command line. CLI11 reads them, which options.cpp and those that hold the whole
// program's options (commands.cpp, main.cpp, cmd_completions.cpp) alone see: its header takes a compiler four seconds.
// As CLI11 doesn't by itself: one word each, decimal numbers alone, lists without gaps. An option whose value is empty
// is refused by declare() (commands.cpp): it is an unset variable of a script, and taking it for "not given" would do
// something that nobody asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace lanewise::program {

/// One option or argument, declared. Copies are the same one.
class Argument {
 public:
  explicit Argument(CLI::Option* option) : option_(option) {}

  /// As --help and completions call what it takes: "FILE", "N,...".
  Argument type_name(const std::string& name) const;
  Argument required() const;
  Argument excludes(const Argument& other) const;
  Argument needs(const Argument& other) const;
  Argument one_of(const std::vector<std::string>& values) const;
  Argument within(double low, double high) const;

  [[nodiscard]] bool given() const;
  /// "--json".
  [[nodiscard]] std::string name() const;

 private:
  CLI::Option* option_;
};

/// The first of the list that was given, by its name; empty: none was.
std::string first_given(const std::vector<Argument>& list);

/// What a command's options are declared with. A name that starts with no dash is an argument's, by its place.
class Arguments {
 public:
  explicit Arguments(CLI::App& app) : app_(app) {}

  Argument option(const std::string& name, std::string* value, const std::string& help);
  Argument option(const std::string& name, double* value, const std::string& help);
  /// May stand there several times, one value each; an argument takes what words there are.
  Argument option(const std::string& name, std::vector<std::string>* values, const std::string& help);
  Argument flag(const std::string& name, bool* value, const std::string& help);
  /// --name N, `low` to `high`.
  template <class T>
  Argument number(const std::string& name, T* value, std::uint64_t low, std::uint64_t high, const std::string& help) {
    return number(
        name, [value](std::uint64_t read) { *value = static_cast<T>(read); }, low, high, help);
  }
  /// --name a,b,c: one word, so that what follows it is an argument again.
  Argument list(const std::string& name, std::vector<std::string>* values, const std::string& help);
  /// --tokens 1,2,4: windows.
  Argument tokens(std::vector<std::uint64_t>* values);
  /// MODEL and TENSOR, as every command that takes them has them.
  Argument model(std::string* path);
  Argument tensor(std::string* name);

 private:
  Argument number(const std::string& name, const std::function<void(std::uint64_t)>& keep, std::uint64_t low,
                  std::uint64_t high, const std::string& help);

  CLI::App& app_;
};

}  // namespace lanewise::program
