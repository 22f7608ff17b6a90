// JSON for machines: keys in the order they are set, strings made valid UTF-8 whatever the file holds. A document is
// built here and written by nlohmann's library, which json.cpp alone sees: its headers take a compiler seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "command.h"

namespace lanewise::program {

class Arguments;
struct JsonMember;

/// A value: null, true or false, a number, a string, a list, or an object, {{"key", value}, ...}.
class Json {
 public:
  Json();
  Json(std::nullptr_t);
  Json(const char* text);
  Json(std::string_view text);
  Json(std::string text);
  Json(std::initializer_list<JsonMember> members);
  template <class T>
  requires std::is_arithmetic_v<T> Json(T value) : Json(number(value)) {}
  /// A list.
  template <std::ranges::input_range T>
  requires(!std::is_convertible_v<const T&, std::string_view>) Json(const T& values) : Json(array()) {
    for (const auto& value : values) push_back(value);
  }
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  static Json array();
  static Json object();

  /// To a list, or to a null, which becomes one.
  void push_back(Json value);
  /// The last of a list that isn't empty.
  Json& back();
  /// The object's member, added as null where there is none; a null becomes an object.
  Json& operator[](std::string_view key);
  /// Adds or replaces members.
  void update(const Json& object);

  /// None but of an object.
  [[nodiscard]] const std::vector<JsonMember>& members() const;
  /// None but of a list.
  [[nodiscard]] const std::vector<Json>& items() const;
  /// The object's member; null where there is none, or this is no object. The last of those of one name.
  [[nodiscard]] const Json* find(std::string_view key) const;
  /// Null where it is no string.
  [[nodiscard]] const std::string* as_string() const;
  /// Nothing where it is no number.
  [[nodiscard]] std::optional<double> as_number() const;
  [[nodiscard]] std::optional<bool> as_bool() const;
  /// As text, indented by so many spaces; -1: in one line.
  [[nodiscard]] std::string dump(int indent = -1) const;

 private:
  using Array = std::vector<Json>;
  using Object = std::vector<JsonMember>;
  using Number = std::variant<bool, std::int64_t, std::uint64_t, double>;

  template <class T>
  static Number number(T value) {
    if constexpr (std::is_same_v<T, bool>) return value;
    if constexpr (std::is_floating_point_v<T>) return static_cast<double>(value);
    if constexpr (std::is_unsigned_v<T>) return static_cast<std::uint64_t>(value);
    return static_cast<std::int64_t>(value);
  }
  explicit Json(Number value);

  struct Writer;
  struct Reader;
  friend Result<Json> parse_json(std::string_view text);
  std::variant<std::nullptr_t, Number, std::string, Array, Object> value_;
};

struct JsonMember {
  std::string key;
  Json value;
};

/// A document from anywhere. Errors: LW_ERROR_ARGUMENT, with the byte at which it stops being JSON (or UTF-8), or is
/// deeper than a hundred levels.
Result<Json> parse_json(std::string_view text);

/// Declares --json FILE ("-" is stdout, and takes the place of the text there).
void declare_json(Arguments& arguments, std::string* path);
/// check_output() of what --json names, if it was given: before the work, and after the inputs were opened.
Outcome check_json(const std::string& path);
/// Writes the document with the command that made it, and gives exit_ok, or the error.
Exit write_json(Context& context, const std::string& path, const Json& document);

}  // namespace lanewise::program
