#include "tune/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <system_error>

namespace lanewise::tune {
namespace {

constexpr int most_levels = 32;

void append_utf8(std::string& out, std::uint32_t code) {
  const auto byte = [&](std::uint32_t value) { out.push_back(static_cast<char>(static_cast<unsigned char>(value))); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<JsonValue> document() {
    LW_ASSIGN(found, value(0));
    skip_space();
    if (at_ != text_.size()) return fault("something follows the document");
    return std::move(found);
  }

 private:
  [[nodiscard]] Error fault(const char* what) const {
    return make_error(LW_ERROR_ARGUMENT, std::string("JSON: ") + what, at_);
  }
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool take(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  // NOLINTNEXTLINE(misc-no-recursion): most_levels deep
  Result<JsonValue> value(int level) {
    if (level == most_levels) return fault("more than 32 levels");
    skip_space();
    if (at_ == text_.size()) return fault("it ends where a value should stand");
    const char next = text_[at_];
    if (next == '{') return object(level);
    if (next == '[') return array(level);
    if (next == '"') {
      LW_ASSIGN(found, string());
      return JsonValue(std::move(found));
    }
    if (take_word("null")) return JsonValue();
    if (take_word("true")) return JsonValue(true);
    if (take_word("false")) return JsonValue(false);
    return number();
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  Result<JsonValue> object(int level) {
    JsonValue::Object members;
    ++at_;
    skip_space();
    if (take('}')) return JsonValue(std::move(members));
    do {
      skip_space();
      if (at_ == text_.size() || text_[at_] != '"') return fault("no key");
      LW_ASSIGN(key, string());
      if (std::ranges::count(members, key, &JsonValue::Member::first) != 0) return fault("a key stands twice");
      skip_space();
      if (!take(':')) return fault("no ':' after a key");
      LW_ASSIGN(found, value(level + 1));
      members.emplace_back(std::move(key), std::move(found));
      skip_space();
    } while (take(','));
    if (!take('}')) return fault("no ',' or '}' in an object");
    return JsonValue(std::move(members));
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  Result<JsonValue> array(int level) {
    JsonValue::Array values;
    ++at_;
    skip_space();
    if (take(']')) return JsonValue(std::move(values));
    do {
      LW_ASSIGN(found, value(level + 1));
      values.push_back(std::move(found));
      skip_space();
    } while (take(','));
    if (!take(']')) return fault("no ',' or ']' in a list");
    return JsonValue(std::move(values));
  }

  Result<std::string> string() {
    std::string out;
    ++at_;
    while (at_ < text_.size()) {
      const char next = text_[at_];
      if (next == '"') {
        ++at_;
        return out;
      }
      if (static_cast<unsigned char>(next) < 0x20) return fault("a control character in a string");
      ++at_;
      if (next != '\\') {
        out.push_back(next);
        continue;
      }
      LW_TRY(escaped(out));
    }
    return fault("a string without an end");
  }

  Outcome escaped(std::string& out) {
    if (at_ == text_.size()) return fault("a string without an end");
    constexpr std::string_view plain = "\"\\/bfnrt";
    constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
    const char kind = text_[at_++];
    if (const std::size_t which = plain.find(kind); which != std::string_view::npos) {
      out.push_back(meant[which]);
      return Done{};
    }
    if (kind != 'u') return fault("an unknown escape");
    LW_ASSIGN(first, four_digits());
    std::uint32_t code = first;
    if (code >= 0xDC00 && code < 0xE000) return fault("half of a surrogate pair");
    if (code >= 0xD800 && code < 0xDC00) {
      if (!take_word("\\u")) return fault("half of a surrogate pair");
      LW_ASSIGN(second, four_digits());
      if (second < 0xDC00 || second >= 0xE000) return fault("half of a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00);
    }
    append_utf8(out, code);
    return Done{};
  }

  Result<std::uint32_t> four_digits() {
    std::uint32_t code = 0;
    const std::string_view digits = text_.substr(at_, 4);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 4 || read.ec != std::errc{} || read.ptr != digits.data() + 4) return fault("no four digits");
    at_ += 4;
    return code;
  }

  std::size_t digits_from(std::size_t at) const {
    while (at < text_.size() && text_[at] >= '0' && text_[at] <= '9') ++at;
    return at;
  }

  Result<JsonValue> number() {
    std::size_t end = at_;
    if (end < text_.size() && text_[end] == '-') ++end;
    const std::size_t whole = end;
    end = digits_from(whole);
    if (end == whole || (text_[whole] == '0' && end > whole + 1)) return fault("no value");
    if (end < text_.size() && text_[end] == '.') {
      const std::size_t part = end + 1;
      end = digits_from(part);
      if (end == part) return fault("no digit after a point");
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      std::size_t power = end + 1;
      if (power < text_.size() && (text_[power] == '+' || text_[power] == '-')) ++power;
      end = digits_from(power);
      if (end == power) return fault("no digit in an exponent");
    }
    double found = 0;
    const auto read = std::from_chars(text_.data() + at_, text_.data() + end, found);
    if (read.ec != std::errc{} || !std::isfinite(found)) return fault("a number that doubles don't hold");
    at_ = end;
    return JsonValue(found);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto* const members = std::get_if<Object>(&value_);
  if (members == nullptr) return nullptr;
  const auto found = std::ranges::find(*members, key, &Member::first);
  return found == members->end() ? nullptr : &found->second;
}

std::optional<double> JsonValue::as_number() const {
  const auto* const number = std::get_if<double>(&value_);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<bool> JsonValue::as_bool() const {
  const auto* const value = std::get_if<bool>(&value_);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::uint64_t> JsonValue::as_unsigned() const {
  const auto* const number = std::get_if<double>(&value_);
  if (number == nullptr || *number < 0 || *number > 0x1p53 || *number != std::floor(*number)) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

Result<JsonValue> parse_json(std::string_view text) { return Parser(text).document(); }

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if (each == '"' || each == '\\') {
      out.push_back('\\');
      out.push_back(each);
    } else if (byte < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(byte));
      out += escape;
    } else {
      out.push_back(each);
    }
  }
  return out + "\"";
}

}  // namespace lanewise::tune
