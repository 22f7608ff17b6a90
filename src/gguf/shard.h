// One GGUF file in memory, checked from its first byte to its last: header, metadata, tensor table, and the place of
// every tensor's data. A model is one of these, or several when it is split.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/status.h"
#include "gguf/metadata.h"
#include "gguf/types.h"

namespace lanewise::gguf {

inline constexpr std::uint32_t max_dims = 4;
inline constexpr std::uint64_t default_alignment = 32;
/// general.alignment is a power of two from 8 (the specification: a multiple of 8) to this.
inline constexpr std::uint64_t max_alignment = std::uint64_t{1} << 20;

/// A tensor's entry in the table, every field checked but the name's uniqueness and the place of the data.
struct TensorEntry {
  std::string_view name;  ///< in the file: no null byte after it
  std::uint32_t type = 0;
  const TypeInfo* info = nullptr;
  std::array<std::uint64_t, max_dims> dims = {1, 1, 1, 1};
  std::uint32_t dim_count = 0;
  std::uint64_t offset = 0;        ///< from the start of the data section
  std::uint64_t size = 0;          ///< bytes of data
  std::uint64_t offset_field = 0;  ///< byte of the file that holds `offset`
};

class Shard {
 public:
  /// `file` must outlive the shard. Memory taken: less than the table and metadata take in the file.
  /// Errors: every LW_ERROR_FILE_ code but LW_ERROR_FILE_SPLIT.
  static Result<Shard> read(std::span<const std::uint8_t> file);

  [[nodiscard]] std::uint32_t version() const { return version_; }
  [[nodiscard]] std::uint64_t alignment() const { return alignment_; }
  /// Byte of the file at which tensor data starts; offsets of tensors count from here.
  [[nodiscard]] std::uint64_t data_start() const { return data_start_; }
  [[nodiscard]] const Metadata& metadata() const { return metadata_; }
  [[nodiscard]] std::uint32_t tensor_count() const { return count_; }
  /// Entry `index` (below tensor_count()), decoded from the file again.
  [[nodiscard]] TensorEntry tensor(std::uint32_t index) const;
  /// Byte of the file at which the entry starts.
  [[nodiscard]] std::uint64_t entry_offset(std::uint32_t index) const { return entries_[index]; }
  /// A null-terminated copy of its name.
  [[nodiscard]] std::string_view name(std::uint32_t index) const;
  [[nodiscard]] std::span<const std::uint8_t> data(const TensorEntry& entry) const;

 private:
  Outcome read_table(Cursor* cursor, std::uint64_t count);
  [[nodiscard]] Outcome check_data() const;

  std::span<const std::uint8_t> file_;
  std::uint32_t version_ = 0;
  std::uint64_t alignment_ = default_alignment;
  std::uint64_t data_start_ = 0;
  Metadata metadata_;
  std::uint32_t count_ = 0;
  std::unique_ptr<std::uint64_t[]> entries_;   // byte of the file at which each entry starts
  std::unique_ptr<std::uint64_t[]> names_at_;  // of each name in names_, and the end of the last
  std::unique_ptr<char[]> names_;              // null-terminated, in table order
};

}  // namespace lanewise::gguf
