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

const std::vector<Json>& Json::items() const {
  static const Array none;
  const auto* list = std::get_if<Array>(&value_);
  return list != nullptr ? *list : none;
}

const Json* Json::find(std::string_view key) const {
  const auto& all = members();
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const JsonMember& each) { return each.key == key; });
  return found != all.rend() ? &found->value : nullptr;
}

std::optional<double> Json::as_number() const {
  const auto* number = std::get_if<Number>(&value_);
  if (number == nullptr || std::holds_alternative<bool>(*number)) return std::nullopt;
  return std::visit([](auto value) { return static_cast<double>(value); }, *number);
}

std::optional<bool> Json::as_bool() const {
  const auto* number = std::get_if<Number>(&value_);
  if (number == nullptr || !std::holds_alternative<bool>(*number)) return std::nullopt;
  return std::get<bool>(*number);
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

// What nlohmann's parser calls as it goes: nothing of the text is built twice, and depth is bounded here.
struct Json::Reader final : nlohmann::json_sax<Writer::Document> {
  static constexpr std::size_t deepest = 100;

  Json root;
  std::vector<Json*> open;
  std::string key_of_next;
  std::optional<Error> error;

  Json* add(Json value) {
    if (open.empty()) {
      root = std::move(value);
      return &root;
    }
    Json& parent = *open.back();
    if (auto* list = std::get_if<Array>(&parent.value_)) {
      list->push_back(std::move(value));
      return &list->back();
    }
    auto& members = std::get<Object>(parent.value_);
    members.push_back({std::move(key_of_next), std::move(value)});
    return &members.back().value;
  }
  bool put(Json value) {
    add(std::move(value));
    return true;
  }
  bool enter(Json container) {
    if (open.size() == deepest) {
      error = make_error(LW_ERROR_ARGUMENT, fmt::format("deeper than {} levels", deepest));
      return false;
    }
    // What lies around it grows no more until it is left, so the pointer holds.
    open.push_back(add(std::move(container)));
    return true;
  }
  bool leave() {
    open.pop_back();
    return true;
  }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return enter(object()); }
  bool key(string_t& value) override {
    key_of_next = std::move(value);
    return true;
  }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t /*size*/) override { return enter(array()); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& cause) override {
    // A number that doesn't fit a double is found so too, at the byte after it.
    error = make_error(LW_ERROR_ARGUMENT, cause.id == 406 ? "a number that no double holds" : "no JSON from here on",
                       position == 0 ? 0 : position - 1);
    return false;
  }
};

Result<Json> parse_json(std::string_view text) {
  Json::Reader reader;
  if (!Json::Writer::Document::sax_parse(text, &reader)) {
    return reader.error.value_or(make_error(LW_ERROR_ARGUMENT, "no JSON"));
  }
  return std::move(reader.root);
}

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
  Json whole = document;
  whole["command"] = context.command;
  const std::string text = whole.dump(2) + "\n";
  if (path == "-") {
    context.out.text(text);
  } else {
    LW_TRY(write_file(path, text));
  }
  return exit_ok;
}

}  // namespace lanewise::program
