// Members of a JSON object that may not be there, and the readers of the documents that have a file of their own.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json.h"
#include "report/data.h"

namespace lanewise::program::report {

inline std::string text_of(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  const std::string* text = value != nullptr ? value->as_string() : nullptr;
  return text != nullptr ? *text : std::string();
}

inline std::optional<double> optional_number(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr ? value->as_number() : std::nullopt;
}

inline double number_of(const Json& object, std::string_view key, double otherwise = 0) {
  return optional_number(object, key).value_or(otherwise);
}

inline bool flag_of(const Json& object, std::string_view key, bool otherwise) {
  const Json* value = object.find(key);
  return value != nullptr ? value->as_bool().value_or(otherwise) : otherwise;
}

inline const std::vector<Json>& list_of(const Json& object, std::string_view key) {
  static const std::vector<Json> none;
  const Json* value = object.find(key);
  return value != nullptr ? value->items() : none;
}

CompareRun read_compare(const Json& document);
TuneRun read_tune(const Json& document);

}  // namespace lanewise::program::report
