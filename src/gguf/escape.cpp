#include "gguf/escape.h"

#include <cstdint>

namespace lanewise::gguf {
namespace {

struct Character {
  std::uint32_t code;
  std::size_t length;  // in bytes; 1 for an invalid byte
  bool valid;
};

// The character at the start of `text` (not empty): shortest forms only, no surrogates, nothing above U+10FFFF.
Character decode(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const Character invalid = {first, 1, false};
  std::size_t length = 0;
  std::uint32_t least = 0;
  if (first >= 0xC2 && first < 0xE0) {
    length = 2;
    least = 0x80;
  } else if (first >= 0xE0 && first < 0xF0) {
    length = 3;
    least = 0x800;
  } else if (first >= 0xF0 && first < 0xF5) {
    length = 4;
    least = 0x10000;
  }
  if (length == 0 || text.size() < length) return invalid;
  std::uint32_t code = first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return invalid;
    code = (code << 6) | (byte(i) & 0x3Fu);
  }
  if (code < least || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return invalid;
  return {code, length, true};
}

std::string hex(std::uint32_t value, int digits) {
  static constexpr char figures[] = "0123456789abcdef";
  std::string out;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += figures[(value >> shift) & 15u];
  return out;
}

// Zero-width and direction marks, line and paragraph separators, tags: they make a name look like another.
bool is_deceptive(std::uint32_t code) {
  return (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB) ||
         (code >= 0xE0000 && code <= 0xE007F) || code == 0x061C || code == 0x00AD;
}

}  // namespace

std::string escape_for_json(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character c = decode(text);
    if (!c.valid) {
      out += "\\ufffd";
    } else if (c.code == '"' || c.code == '\\') {
      out += '\\';
      out += static_cast<char>(c.code);
    } else if (c.code < 0x20 || (c.code >= 0x7F && c.code < 0xA0)) {
      out += "\\u" + hex(c.code, 4);
    } else {
      out += text.substr(0, c.length);
    }
    text.remove_prefix(c.length);
  }
  return out;
}

std::string escape_for_terminal(std::string_view text, std::size_t limit) {
  std::string out;
  std::size_t taken = 0;
  while (!text.empty()) {
    const Character c = decode(text);
    if (c.length > limit - taken) return out + "...";
    taken += c.length;
    if (!c.valid || c.code < 0x20 || c.code == 0x7F) {
      if (c.code == '\n') {
        out += "\\n";
      } else if (c.code == '\t') {
        out += "\\t";
      } else {
        out += "\\x" + hex(c.code, 2);
      }
    } else if (c.code == '\\') {
      out += "\\\\";
    } else if ((c.code >= 0x80 && c.code < 0xA0) || is_deceptive(c.code)) {
      out += "\\u{" + hex(c.code, c.code > 0xFFFF ? 6 : 4) + "}";
    } else {
      out += text.substr(0, c.length);
    }
    text.remove_prefix(c.length);
  }
  return out;
}

}  // namespace lanewise::gguf
