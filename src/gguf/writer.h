// Writes GGUF files, for tests and tools: everything is described first, then tensor data is streamed in the order in
// which tensors were added, so that no more than a buffer stands in memory. What it writes, the reader opens.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "gguf/metadata.h"
#include "gguf/output_file.h"
#include "gguf/shard.h"
#include "gguf/types.h"

namespace lanewise::gguf {

using Bytes = std::vector<std::uint8_t>;

template <class T>
concept MetadataNumber = std::same_as<T, std::uint8_t> || std::same_as<T, std::int8_t> ||
    std::same_as<T, std::uint16_t> || std::same_as<T, std::int16_t> || std::same_as<T, std::uint32_t> ||
    std::same_as<T, std::int32_t> || std::same_as<T, std::uint64_t> || std::same_as<T, std::int64_t> ||
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, bool>;

template <MetadataNumber T>
consteval ValueType value_type_of() {
  if constexpr (std::same_as<T, bool>) return ValueType::BOOL;
  if constexpr (std::same_as<T, float>) return ValueType::F32;
  if constexpr (std::same_as<T, double>) return ValueType::F64;
  if constexpr (std::same_as<T, std::uint8_t>) return ValueType::U8;
  if constexpr (std::same_as<T, std::int8_t>) return ValueType::I8;
  if constexpr (std::same_as<T, std::uint16_t>) return ValueType::U16;
  if constexpr (std::same_as<T, std::int16_t>) return ValueType::I16;
  if constexpr (std::same_as<T, std::uint32_t>) return ValueType::U32;
  if constexpr (std::same_as<T, std::int32_t>) return ValueType::I32;
  if constexpr (std::same_as<T, std::uint64_t>) return ValueType::U64;
  if constexpr (std::same_as<T, std::int64_t>) return ValueType::I64;
}

// ---- Values in the file's form ----

template <MetadataNumber T>
void put_number(Bytes* out, T value) {
  const std::size_t at = out->size();
  out->resize(at + sizeof(T));
  std::memcpy(out->data() + at, &value, sizeof(T));
}
void put_string(Bytes* out, std::string_view text);
/// An array's header; its `count` elements follow.
void put_array_header(Bytes* out, ValueType element, std::uint64_t count);

struct WriterOptions {
  std::uint32_t version = 3;                    ///< 2 or 3; for little-endian files the two are alike
  std::uint64_t alignment = default_alignment;  ///< any other is written as general.alignment
  std::uint64_t tensors_per_shard = 0;          ///< 0: one whole file
};

class Writer {
 public:
  explicit Writer(const WriterOptions& options = {}) : options_(options) {}

  /// ---- First: metadata and tensors. Errors: LW_ERROR_ARGUMENT for what the reader would refuse. ----
  template <MetadataNumber T>
  Outcome add(std::string_view key, T value) {
    Bytes bytes;
    put_number(&bytes, value);
    return add_value(key, value_type_of<T>(), bytes);
  }
  Outcome add_string(std::string_view key, std::string_view value);
  template <MetadataNumber T>
  Outcome add_array(std::string_view key, std::span<const T> values) {
    Bytes bytes;
    put_array_header(&bytes, value_type_of<T>(), values.size());
    for (const T value : values) put_number(&bytes, value);
    return add_value(key, ValueType::ARRAY, bytes);
  }
  Outcome add_strings(std::string_view key, std::span<const std::string_view> values);
  /// Any value, arrays in arrays included, in the file's form.
  Outcome add_value(std::string_view key, ValueType type, std::span<const std::uint8_t> value);
  /// Dims as in TensorView: dims[0] is K.
  Outcome add_tensor(std::string_view name, std::uint32_t type, std::span<const std::uint64_t> dims);

  /// ---- Then: one of these. ----
  /// Writes to "PATH.partial" until finish(). When splitting, PATH "x.gguf" becomes "x-00001-of-0000N.gguf" and so on.
  Outcome begin(const std::string& path);
  /// Writes to `out`, which must outlive the writer; a whole file only.
  Outcome begin(Bytes* out);

  /// ---- Then: the data of all tensors, one after another, in pieces of any size; padding is the writer's. ----
  Outcome append(std::span<const std::uint8_t> bytes);
  /// Bytes of data still to come.
  [[nodiscard]] std::uint64_t remaining() const;

  /// ---- Last. Fails with LW_ERROR_ARGUMENT while data is missing. Without it nothing is left on the disk. ----
  Outcome finish();
  /// After finish(): the files written.
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }

 private:
  struct Planned {
    std::string name;
    std::uint32_t type = 0;
    std::vector<std::uint64_t> dims;
    std::uint64_t size = 0;
  };

  [[nodiscard]] std::uint64_t shard_count() const;
  [[nodiscard]] Bytes header(std::uint64_t shard) const;
  Outcome check_begin();
  Outcome open_next();
  Outcome emit(std::span<const std::uint8_t> bytes);
  Outcome advance();
  void abandon();

  WriterOptions options_;
  std::set<std::string, std::less<>> keys_;
  std::set<std::string, std::less<>> names_;
  Bytes pairs_;  // in the file's form
  std::uint64_t pair_count_ = 0;
  std::vector<Planned> tensors_;

  enum class Stage : std::uint8_t { DESCRIBE, DATA, DONE, FAILED };
  Stage stage_ = Stage::DESCRIBE;
  Bytes* memory_ = nullptr;
  std::vector<std::string> paths_;
  std::vector<OutputFile> files_;
  std::uint64_t opened_ = 0;   // shards begun
  std::uint64_t current_ = 0;  // tensor that the next byte belongs to
  std::uint64_t written_ = 0;  // bytes of it
};

}  // namespace lanewise::gguf
