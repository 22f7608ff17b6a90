#include "exit_codes.h"

#include <csignal>

#include <fmt/format.h>

namespace lanewise::program {

std::atomic<bool> stop_asked = false;

namespace {

void on_signal(int) { stop_asked = true; }

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

void install_signal_handlers() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  // Once: a second signal ends a program that doesn't come to its next question.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigemptyset(&ignore.sa_mask);
  sigaction(SIGPIPE, &ignore, nullptr);
}

}  // namespace lanewise::program
