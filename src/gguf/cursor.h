// A position in the bytes of a file. Every read is compared, by subtraction, with the bytes that remain.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "gguf/escape.h"

namespace lanewise::gguf {

static_assert(std::endian::native == std::endian::little,
              "GGUF numbers are little-endian; reads here are plain copies");

class Cursor {
 public:
  /// `position` must be at most bytes.size().
  explicit Cursor(std::span<const std::uint8_t> bytes, std::uint64_t position = 0)
      : bytes_(bytes), position_(position) {}

  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] std::uint64_t remaining() const { return bytes_.size() - position_; }

  /// False, and nothing moves, where fewer bytes remain than it takes.
  template <class T>
  requires std::integral<T> || std::floating_point<T>
  [[nodiscard]] bool read(T* out) {
    if (remaining() < sizeof(T)) return false;
    std::memcpy(out, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return true;
  }
  [[nodiscard]] bool skip(std::uint64_t count) {
    if (remaining() < count) return false;
    position_ += count;
    return true;
  }
  [[nodiscard]] bool take(std::uint64_t count, std::span<const std::uint8_t>* out) {
    if (remaining() < count) return false;
    *out = bytes_.subspan(position_, count);
    position_ += count;
    return true;
  }
  [[nodiscard]] std::span<const std::uint8_t> rest() const { return bytes_.subspan(position_); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::uint64_t position_;
};

inline std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A name of the file as it stands in a message: escaped, in quotes, cut at 80 bytes.
inline std::string quoted(std::string_view name) { return "'" + escape_for_terminal(name, 80) + "'"; }

inline std::string number(std::uint64_t value) { return std::to_string(value); }

/// "1 byte", "2 bytes".
inline std::string count_of(std::uint64_t count, std::string_view noun) {
  return number(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

/// The file ends inside `what`, which needs `needed` bytes at the cursor (more than remain).
inline Error file_ends_inside(const Cursor& cursor, const std::string& what, std::uint64_t needed) {
  return make_error(LW_ERROR_FILE_TRUNCATED,
                    "the file ends inside " + what + ", at least " + count_of(needed - cursor.remaining(), "byte") +
                        " short: if it was downloaded or copied, that was cut off; fetch it again",
                    cursor.position());
}

}  // namespace lanewise::gguf
