// A file that is whole or absent: written beside its name, renamed over it once every byte is down, removed otherwise.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace lanewise::gguf {

class OutputFile {
 public:
  /// Creates "PATH.partial". LW_ERROR_IO where it can't.
  static Result<OutputFile> create(const std::string& path);
  OutputFile() = default;
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Removes the partial file unless commit() succeeded.
  ~OutputFile();

  Outcome write(std::span<const std::uint8_t> bytes);
  /// Writes what is buffered, closes and renames. After an error nothing is left under either name that this object
  /// made.
  Outcome commit();
  /// After commit(): removes the file again, for a set of files of which another failed.
  void revoke();

 private:
  Outcome flush();
  Outcome put(std::span<const std::uint8_t> bytes);
  void discard();
  [[nodiscard]] std::string partial() const { return path_ + ".partial"; }

  std::string path_;
  int file_ = -1;
  bool committed_ = false;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace lanewise::gguf
