// What the program writes: text on the standard output, files that are whole or not there, progress on a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/status.h"

namespace lanewise::program {

/// Text on the standard output, buffered. The first failed write is kept and returned by flush(), which every command
/// ends with; what comes after it is dropped.
class Output {
 public:
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() >= flush_at) write_buffer();
  }
  void text(std::string_view text);
  /// Errors: LW_ERROR_IO (a full disk, a closed pipe).
  Outcome flush();
  /// A write has failed: what is still to be printed will be seen by nobody.
  [[nodiscard]] bool failed() const { return error_ != 0; }

 private:
  static constexpr std::size_t flush_at = 1 << 16;
  void write_buffer();

  fmt::memory_buffer buffer_;
  int error_ = 0;
};

/// Remembers a file that the command reads: nothing is written over it afterwards, whatever name leads there.
void note_input(const std::string& path);
/// What FileSink::create() would refuse, known before the work is done: an output that is an input
/// (LW_ERROR_ARGUMENT), a directory, a place where nothing may be written (LW_ERROR_IO).
Outcome check_output(const std::string& path);

/// A file that appears under its name only when it is complete: written beside it under a temporary name, then renamed
/// over it. What isn't committed is removed, also when a signal of exit_codes.h ends the program. A path that is no
/// regular file (a pipe, a device) is written in place; "-" is the standard output. One at a time.
class FileSink {
 public:
  /// Errors: those of check_output().
  static Result<FileSink> create(const std::string& path);
  FileSink(FileSink&& other) noexcept;
  FileSink& operator=(FileSink&&) = delete;
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;
  ~FileSink();

  Outcome write(const void* data, std::size_t bytes);
  /// Everything is with the system and stands under the file's name. Errors: LW_ERROR_IO.
  Outcome commit();

 private:
  FileSink() = default;
  [[nodiscard]] Error io_error(int number) const;

  int descriptor_ = -1;
  std::string path_;       // as the user gave it, for messages
  std::string target_;     // links resolved
  std::string temporary_;  // empty: written in place
};

/// The whole of a text file through a FileSink.
Outcome write_file(const std::string& path, std::string_view text);

/// A line on stderr that overwrites itself, where stderr is a terminal and the user hasn't asked for quiet.
class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// "[done/total] what"; at most ten times a second.
  void show(std::uint64_t done, std::uint64_t total, std::string_view what);
  /// Before anything else is written to the terminal.
  void clear();

 private:
  bool enabled_;
  bool shown_ = false;
  std::int64_t last_ms_ = 0;
};

/// "253.1 MB" (powers of ten, as disks and downloads are measured).
std::string human_bytes(std::uint64_t bytes);
/// "1,234,567".
std::string grouped(std::uint64_t value);

}  // namespace lanewise::program
