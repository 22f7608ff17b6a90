// The key-value pairs of a GGUF file: views into the file's bytes, decoded on demand.
//
// In the file: n pairs of { key: u64 length and bytes; type: u32; value }. A value is a number, a bool (one byte, 0 or
// 1), a string (u64 length and bytes) or an array (element type: u32; count: u64; elements), whose elements may be
// arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/status.h"
#include "gguf/cursor.h"

namespace lanewise::gguf {

enum class ValueType : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 };
inline constexpr std::uint32_t value_type_count = 13;

/// "u8", "string", ...
std::string_view value_type_name(ValueType type);
/// Bytes of a number or bool; 0 for strings and arrays.
std::uint32_t value_type_bytes(ValueType type);

/// Arrays may stand in arrays this deep; a file with deeper ones is refused (docs/gguf.md).
inline constexpr std::uint32_t max_array_depth = 16;
/// Of keys and tensor names, in bytes, as the specification has it.
inline constexpr std::uint64_t max_name_bytes = 65535;
/// A key-value pair in the file: a key of one byte, a value of one byte.
inline constexpr std::uint64_t least_pair_bytes = 14;

/// Moves past the value of `type` at the cursor, checking all of it. `what` names it in messages. Arrays are walked
/// with a stack of max_array_depth counters: nothing recurses, nothing is allocated.
Outcome skip_value(Cursor* cursor, ValueType type, const std::string& what);

class Array;

/// One value. Accessors give nothing where the value is of another kind; integers of every width are one kind.
class Value {
 public:
  Value() = default;
  /// `bytes` start with the value and may go on after it.
  Value(ValueType type, std::span<const std::uint8_t> bytes) : type_(type), bytes_(bytes) {}

  [[nodiscard]] ValueType type() const { return type_; }
  /// Nothing where the number is negative, or no integer.
  [[nodiscard]] std::optional<std::uint64_t> as_unsigned() const;
  /// Nothing where the number is above 2^63 - 1, or no integer.
  [[nodiscard]] std::optional<std::int64_t> as_integer() const;
  /// Of F32 and F64.
  [[nodiscard]] std::optional<double> as_float() const;
  [[nodiscard]] std::optional<bool> as_bool() const;
  /// The bytes as they stand, which need not be UTF-8 and may hold null bytes.
  [[nodiscard]] std::optional<std::string_view> as_string() const;
  [[nodiscard]] std::optional<Array> as_array() const;

 private:
  ValueType type_ = ValueType::U8;
  std::span<const std::uint8_t> bytes_;
};

/// Elements in file order. Iterating is forward only: strings and arrays have no fixed size.
class Array {
 public:
  class Iterator {
   public:
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;

    Iterator() = default;
    Iterator(ValueType type, std::span<const std::uint8_t> rest, std::uint64_t left)
        : type_(type), rest_(rest), left_(left) {}
    Value operator*() const { return {type_, rest_}; }
    Iterator& operator++();
    void operator++(int) { ++*this; }
    bool operator==(const Iterator& other) const { return left_ == other.left_; }

   private:
    ValueType type_ = ValueType::U8;
    std::span<const std::uint8_t> rest_;
    std::uint64_t left_ = 0;
  };

  Array(ValueType type, std::uint64_t size, std::span<const std::uint8_t> bytes)
      : type_(type), size_(size), bytes_(bytes) {}

  [[nodiscard]] ValueType element_type() const { return type_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] Iterator begin() const { return {type_, bytes_, size_}; }
  [[nodiscard]] Iterator end() const { return {type_, {}, 0}; }

 private:
  ValueType type_;
  std::uint64_t size_;
  std::span<const std::uint8_t> bytes_;
};

struct Pair {
  std::string_view key;
  Value value;
};

/// All pairs of one file. 12 bytes of memory each, fewer than the 14 that the smallest pair takes in the file.
class Metadata {
 public:
  /// Reads `count` pairs at the cursor and moves past them. Errors: LW_ERROR_FILE_TRUNCATED, LW_ERROR_FILE_METADATA.
  static Result<Metadata> read(Cursor* cursor, std::span<const std::uint8_t> file, std::uint64_t count);

  [[nodiscard]] std::uint64_t size() const { return count_; }
  /// Pair `index` (below size()), in file order.
  [[nodiscard]] Pair at(std::uint64_t index) const;
  /// Nothing where the key is not there.
  [[nodiscard]] std::optional<Value> find(std::string_view key) const;
  /// Byte of the file at which the key's pair starts.
  [[nodiscard]] std::optional<std::uint64_t> offset_of(std::string_view key) const;

 private:
  [[nodiscard]] std::optional<std::uint64_t> index_of(std::string_view key) const;

  std::span<const std::uint8_t> file_;
  std::uint64_t count_ = 0;
  std::unique_ptr<std::uint64_t[]> offsets_;  // of each pair, in file order
  std::unique_ptr<std::uint32_t[]> by_key_;   // indices of pairs, sorted by key
};

}  // namespace lanewise::gguf
