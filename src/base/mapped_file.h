// The bytes of a file: mapped where the system can, read into memory where it can't (a pipe, a file system without
// mmap).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace lanewise {

enum class FileAccess : std::uint8_t {
  automatic,  ///< map a regular file; read anything else, and what the system refuses to map
  map,        ///< map or fail
  read,       ///< read, whatever it is
};

struct FileOptions {
  FileAccess access = FileAccess::automatic;
  /// Most bytes that the read path may take into memory; 0: as many as the machine has. More is LW_ERROR_MEMORY.
  std::uint64_t read_limit = 0;
  /// Reading stops early, without an error, once the first bytes differ from these: an endless device that isn't the
  /// kind of file asked for is then refused by its first bytes instead of filling the memory.
  std::string_view expected_prefix = {};
};

/// Read-only, movable; the address of its bytes stays the same until it is destroyed.
///
/// A mapped file must keep its size and contents while it is open. If another process shortens it, touching a page past
/// the new end raises SIGBUS, as for every mapping; if one rewrites it, the new bytes may show. Replace a model by
/// writing a new file and renaming it over the old one, which leaves the mapping whole, or open with FileAccess::read.
class MappedFile {
 public:
  /// Errors: LW_ERROR_NOT_FOUND (no such file), LW_ERROR_IO (a directory, no permission, a failed read),
  /// LW_ERROR_MEMORY (larger than the limit or than the memory to be had).
  static Result<MappedFile> open(const std::string& path, const FileOptions& options = {});

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return {data_, size_}; }
  /// False: the bytes are a copy in memory.
  [[nodiscard]] bool is_mapped() const { return mapped_; }

 private:
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  bool mapped_ = false;
};

}  // namespace lanewise
