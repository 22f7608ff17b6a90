#include "json.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "options.h"

namespace lanewise::program {

Json::Json() = default;
Json::Json(std::nullptr_t) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(std::initializer_list<JsonMember> members) : value_(Object(members)) {}
Json::Json(Number value) : value_(value) {}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::array() {
  Json made;
  made.value_ = Array();
  return made;
}

Json Json::object() {
  Json made;
  made.value_ = Object();
  return made;
}

void Json::push_back(Json value) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = Array();
  std::get<Array>(value_).push_back(std::move(value));
}

Json& Json::back() { return std::get<Array>(value_).back(); }

Json& Json::operator[](std::string_view key) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = Object();
  auto& members = std::get<Object>(value_);
  const auto found = std::ranges::find(members, key, &JsonMember::key);
  if (found != members.end()) return found->value;
  members.push_back({std::string(key), {}});
  return members.back().value;
}

void Json::update(const Json& object) {
  for (const JsonMember& member : object.members()) (*this)[member.key] = member.value;
}

const std::vector<JsonMember>& Json::members() const {
  static const Object none;
  const auto* members = std::get_if<Object>(&value_);
  return members != nullptr ? *members : none;
}

const std::string* Json::as_string() const { return std::get_if<std::string>(&value_); }

struct Json::Writer {
  using Document = nlohmann::ordered_json;

  static Document document(const Json& json) { return std::visit(Writer{}, json.value_); }

  Document operator()(std::nullptr_t) const { return nullptr; }
  Document operator()(const Number& number) const {
    return std::visit([](auto value) { return Document(value); }, number);
  }
  Document operator()(const std::string& text) const { return text; }
  Document operator()(const Array& values) const {
    Document list = Document::array();
    for (const Json& value : values) list.push_back(document(value));
    return list;
  }
  Document operator()(const Object& members) const {
    Document object = Document::object();
    for (const JsonMember& member : members) object[member.key] = document(member.value);
    return object;
  }
};

std::string Json::dump(int indent) const {
  // A name of a GGUF file may be any bytes: what isn't UTF-8 becomes U+FFFD.
  return Writer::document(*this).dump(indent, ' ', false, Writer::Document::error_handler_t::replace);
}

void declare_json(Arguments& arguments, std::string* path) {
  arguments.option("--json", path, "Write JSON to FILE; '-' writes it to stdout in place of the text")
      .type_name("FILE");
}

Outcome check_json(const std::string& path) { return path.empty() ? Outcome(Done{}) : check_output(path); }

Exit write_json(Context& context, const std::string& path, const Json& document) {
  const std::string text = document.dump(2) + "\n";
  if (path == "-") {
    context.out.text(text);
  } else {
    LW_TRY(write_file(path, text));
  }
  return exit_ok;
}

}  // namespace lanewise::program
