// A strict reader of JSON (RFC 8259) for the files that tuning keeps: no comments, no trailing commas, each key once.
// The library reads these files itself, so that it needs no other for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"

namespace lanewise::tune {

class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  using Member = std::pair<std::string, JsonValue>;
  using Object = std::vector<Member>;

  JsonValue() = default;
  explicit JsonValue(bool value) : value_(value) {}
  explicit JsonValue(double value) : value_(value) {}
  explicit JsonValue(std::string value) : value_(std::move(value)) {}
  explicit JsonValue(Array value) : value_(std::move(value)) {}
  explicit JsonValue(Object value) : value_(std::move(value)) {}

  /// Of an object; null where there is none of that name, or this is no object.
  [[nodiscard]] const JsonValue* find(std::string_view key) const;
  /// Null, or nothing, where the value is of another kind.
  [[nodiscard]] const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  [[nodiscard]] const Array* as_array() const { return std::get_if<Array>(&value_); }
  [[nodiscard]] const Object* as_object() const { return std::get_if<Object>(&value_); }
  [[nodiscard]] std::optional<double> as_number() const;
  [[nodiscard]] std::optional<bool> as_bool() const;
  /// A whole number from 0 to 2^53.
  [[nodiscard]] std::optional<std::uint64_t> as_unsigned() const;

 private:
  std::variant<std::nullptr_t, bool, double, std::string, Array, Object> value_ = nullptr;
};

/// The whole of `text`, at most 32 levels deep. Errors: LW_ERROR_ARGUMENT with the byte at which the fault lies.
Result<JsonValue> parse_json(std::string_view text);

/// `text` as a JSON string, quotes included; bytes that are no UTF-8 stay as they are.
std::string json_string(std::string_view text);

}  // namespace lanewise::tune
