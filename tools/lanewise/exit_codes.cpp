#include "exit_codes.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include <fmt/format.h>

namespace lanewise::program {

std::atomic<bool> stop_asked = false;

namespace {

void on_signal(int) { stop_asked = true; }

// Read by the handler, so no std::string. An empty one names no file.
std::array<char, 4096> unfinished_file{};

void on_bus_error(int) {
  constexpr std::string_view line =
      "lanewise: a file in use was shortened or can't be read any more: run again when it is whole (LW_ERROR_IO)\n";
  // There is nobody left to tell if this fails.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  if (unfinished_file[0] != '\0') ::unlink(unfinished_file.data());
  ::_exit(exit_io);
}

}  // namespace

int exit_code_of(Status status) {
  switch (status) {
    case LW_OK:
      return exit_ok;
    case LW_ERROR_ARGUMENT:
      return exit_usage;
    case LW_ERROR_MEMORY:
      return exit_memory;
    case LW_ERROR_IO:
      return exit_io;
    case LW_ERROR_UNSUPPORTED:
    case LW_ERROR_DEVICE:
      return exit_unsupported;
    case LW_ERROR_INTERNAL:
      return exit_internal;
    case LW_ERROR_NOT_FOUND:
    case LW_ERROR_NOT_A_WEIGHT:
    case LW_ERROR_FILE_MAGIC:
    case LW_ERROR_FILE_VERSION:
    case LW_ERROR_FILE_TRUNCATED:
    case LW_ERROR_FILE_METADATA:
    case LW_ERROR_FILE_TENSOR:
    case LW_ERROR_FILE_TYPE:
    case LW_ERROR_FILE_SPLIT:
      return exit_input;
  }
  return exit_internal;
}

std::string error_line(const Error& error) {
  std::string line = fmt::format("lanewise: {} ({}", error.message, lw_status_name(error.code));
  if (error.offset != Error::no_offset) line += fmt::format(", byte {}", error.offset);
  line += ')';
  for (char& c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = ' ';
  }
  return line;
}

void set_unfinished_file(std::string_view path) {
  unfinished_file[0] = '\0';
  if (path.empty() || path.size() >= unfinished_file.size()) return;
  // The first byte last: a handler in between sees no name.
  std::ranges::copy(path.substr(1), unfinished_file.begin() + 1);
  unfinished_file[path.size()] = '\0';
  std::atomic_signal_fence(std::memory_order_seq_cst);
  unfinished_file[0] = path[0];
}

void install_signal_handlers() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  // Once: a second signal ends a program that doesn't come to its next question.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
  action.sa_handler = on_bus_error;
  sigaction(SIGBUS, &action, nullptr);
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigemptyset(&ignore.sa_mask);
  for (const int signal : {SIGPIPE, SIGXFSZ}) sigaction(signal, &ignore, nullptr);
}

}  // namespace lanewise::program
