// How a command ends: an exit code, or an error with the exit code that belongs to it (docs/program.md lists them).
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/status.h"

namespace lanewise::program {

enum ExitCode : int {
  exit_ok = 0,
  exit_wrong = 1,         ///< a bit differs, a bound is passed, a result is mistrusted
  exit_usage = 2,         ///< the command line
  exit_input = 3,         ///< a file's contents, or a name that isn't in it
  exit_unsupported = 4,   ///< a device, kernel or instruction set that isn't here
  exit_io = 5,            ///< opening, reading or writing
  exit_memory = 6,        ///< an allocation failed
  exit_internal = 7,      ///< a fault of the program itself
  exit_interrupted = 130  ///< stopped by SIGINT, SIGTERM or SIGHUP
};

/// What a status means for the exit code where the command doesn't know better.
int exit_code_of(Status status);

struct Fault {
  Error error;
  int exit_code;
};

/// The end of a command. Errors of the library convert with the exit code of their status, so LW_TRY works in a
/// command.
class Exit {
 public:
  Exit(int code) : state_(code) {}  // NOLINT(google-explicit-constructor)
  Exit(Error error)                 // NOLINT(google-explicit-constructor)
      : state_(Fault{std::move(error), exit_internal}) {
    std::get<Fault>(state_).exit_code = exit_code_of(std::get<Fault>(state_).error.code);
  }
  Exit(Fault fault) : state_(std::move(fault)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] const Fault* fault() const { return std::get_if<Fault>(&state_); }
  [[nodiscard]] int code() const { return fault() != nullptr ? fault()->exit_code : std::get<int>(state_); }

 private:
  std::variant<int, Fault> state_;
};

/// An error of the contents of a file, whatever its status.
inline Fault bad_input(Error error) { return {std::move(error), exit_input}; }
/// A device, kernel or instruction set that isn't here.
inline Fault not_here(Error error) { return {std::move(error), exit_unsupported}; }
/// An error where everything that has a name is known to be there but a kernel.
inline Exit no_kernel(Error error) {
  return error.code == LW_ERROR_NOT_FOUND ? Exit(not_here(std::move(error))) : Exit(std::move(error));
}
inline Fault bad_usage(std::string message) { return {make_error(LW_ERROR_ARGUMENT, std::move(message)), exit_usage}; }

/// The one line that an error is on stderr: `lanewise: <sentence> (<code>, byte N)`, no newline at its end, no control
/// character in it.
std::string error_line(const Error& error);

/// Set once a signal has asked the program to stop. Long work looks between steps, so that no half-written file is
/// left.
extern std::atomic<bool> stop_asked;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
/// What a stopped command ends with.
inline Fault interrupted() {
  return {make_error(LW_ERROR_IO, "interrupted; nothing half-written was left"), exit_interrupted};
}

/// SIGINT, SIGTERM and SIGHUP set stop_asked, unless the caller had them ignored (nohup); a closed pipe and a file over
/// its limit become failed writes; SIGBUS (a mapped file was shortened, or its disk failed) ends the program with one
/// line, exit_io and no half-written file.
void install_signal_handlers();
/// The file that SIGBUS removes; empty: none. A path over 4095 bytes is none.
void set_unfinished_file(std::string_view path);

}  // namespace lanewise::program
