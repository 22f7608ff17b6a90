#include "gguf/metadata.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "base/checked.h"

namespace lanewise::gguf {
namespace {

struct TypeFacts {
  std::string_view name;
  std::uint32_t bytes;
};
constexpr std::array<TypeFacts, value_type_count> type_facts = {{{"u8", 1},
                                                                 {"i8", 1},
                                                                 {"u16", 2},
                                                                 {"i16", 2},
                                                                 {"u32", 4},
                                                                 {"i32", 4},
                                                                 {"f32", 4},
                                                                 {"bool", 1},
                                                                 {"string", 0},
                                                                 {"array", 0},
                                                                 {"u64", 8},
                                                                 {"i64", 8},
                                                                 {"f64", 8}}};

constexpr std::uint64_t array_header_bytes = 12;  // element type and count

template <class T>
T load(std::span<const std::uint8_t> bytes) {
  T value{};
  (void)Cursor(bytes).read(&value);  // bytes were checked on opening; a file cut short since then reads as 0
  return value;
}

Error malformed(std::string message, std::uint64_t offset) {
  return make_error(LW_ERROR_FILE_METADATA, std::move(message), offset);
}

Outcome check_bools(std::span<const std::uint8_t> bytes, std::uint64_t offset, const std::string& what) {
  const auto bad = std::ranges::find_if(bytes, [](std::uint8_t byte) { return byte > 1; });
  if (bad == bytes.end()) return Done{};
  return malformed(what + " holds a bool that is " + number(*bad) + ", neither 0 nor 1",
                   offset + static_cast<std::uint64_t>(bad - bytes.begin()));
}

Outcome skip_string(Cursor* cursor, const std::string& what) {
  std::uint64_t length = 0;
  if (!cursor->read(&length)) return file_ends_inside(*cursor, what, sizeof length);
  if (!cursor->skip(length)) return file_ends_inside(*cursor, what, length);
  return Done{};
}

Outcome skip_numbers(Cursor* cursor, ValueType type, std::uint64_t count, const std::string& what) {
  const std::uint64_t offset = cursor->position();
  const auto size = checked_mul(count, value_type_bytes(type));
  std::span<const std::uint8_t> bytes;
  if (!size || !cursor->take(*size, &bytes)) return file_ends_inside(*cursor, what, size.value_or(UINT64_MAX));
  if (type == ValueType::BOOL) return check_bools(bytes, offset, what);
  return Done{};
}

struct ArrayHeader {
  ValueType type;
  std::uint64_t count;
};

Result<ArrayHeader> read_array_header(Cursor* cursor, const std::string& what) {
  const std::uint64_t offset = cursor->position();
  std::uint32_t type = 0;
  std::uint64_t count = 0;
  if (cursor->remaining() < array_header_bytes) return file_ends_inside(*cursor, what, array_header_bytes);
  (void)cursor->read(&type);
  (void)cursor->read(&count);
  if (type >= value_type_count) {
    return malformed(what + " is an array of values of unknown type " + number(type) + "; known are 0 to 12", offset);
  }
  return ArrayHeader{static_cast<ValueType>(type), count};
}

}  // namespace

std::string_view value_type_name(ValueType type) { return type_facts[static_cast<std::uint32_t>(type)].name; }
std::uint32_t value_type_bytes(ValueType type) { return type_facts[static_cast<std::uint32_t>(type)].bytes; }

Outcome skip_value(Cursor* cursor, ValueType type, const std::string& what) {
  if (type == ValueType::STRING) return skip_string(cursor, what);
  if (type != ValueType::ARRAY) return skip_numbers(cursor, type, 1, what);

  std::array<std::uint64_t, max_array_depth> left{};  // arrays still to come at each level
  std::uint32_t depth = 1;
  left[0] = 1;
  while (depth != 0) {
    if (left[depth - 1] == 0) {
      --depth;
      continue;
    }
    --left[depth - 1];
    const std::uint64_t offset = cursor->position();
    LW_ASSIGN(header, read_array_header(cursor, what));
    if (header.type == ValueType::ARRAY) {
      if (depth == max_array_depth) {
        return malformed(what + " holds arrays in arrays more than " + number(max_array_depth) + " deep", offset);
      }
      left[depth++] = header.count;
    } else if (header.type == ValueType::STRING) {
      // Before walking them: each takes at least its length.
      const auto least = checked_mul(header.count, sizeof(std::uint64_t));
      if (!least || *least > cursor->remaining()) return file_ends_inside(*cursor, what, least.value_or(UINT64_MAX));
      for (std::uint64_t i = 0; i < header.count; ++i) LW_TRY(skip_string(cursor, what));
    } else {
      LW_TRY(skip_numbers(cursor, header.type, header.count, what));
    }
  }
  return Done{};
}

std::optional<std::uint64_t> Value::as_unsigned() const {
  switch (type_) {
    case ValueType::U8:
      return load<std::uint8_t>(bytes_);
    case ValueType::U16:
      return load<std::uint16_t>(bytes_);
    case ValueType::U32:
      return load<std::uint32_t>(bytes_);
    case ValueType::U64:
      return load<std::uint64_t>(bytes_);
    default:
      break;
  }
  const auto value = as_integer();
  if (!value || *value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

std::optional<std::int64_t> Value::as_integer() const {
  switch (type_) {
    case ValueType::I8:
      return load<std::int8_t>(bytes_);
    case ValueType::I16:
      return load<std::int16_t>(bytes_);
    case ValueType::I32:
      return load<std::int32_t>(bytes_);
    case ValueType::I64:
      return load<std::int64_t>(bytes_);
    case ValueType::U8:
    case ValueType::U16:
    case ValueType::U32:
    case ValueType::U64: {
      const std::uint64_t value = *as_unsigned();
      if (value > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
      return static_cast<std::int64_t>(value);
    }
    default:
      return std::nullopt;
  }
}

std::optional<double> Value::as_float() const {
  if (type_ == ValueType::F32) return static_cast<double>(load<float>(bytes_));
  if (type_ == ValueType::F64) return load<double>(bytes_);
  return std::nullopt;
}

std::optional<bool> Value::as_bool() const {
  if (type_ != ValueType::BOOL) return std::nullopt;
  return load<std::uint8_t>(bytes_) != 0;
}

std::optional<std::string_view> Value::as_string() const {
  if (type_ != ValueType::STRING) return std::nullopt;
  Cursor cursor(bytes_);
  std::uint64_t length = 0;
  std::span<const std::uint8_t> text;
  if (!cursor.read(&length) || !cursor.take(length, &text)) return std::string_view();
  return as_text(text);
}

std::optional<Array> Value::as_array() const {
  if (type_ != ValueType::ARRAY) return std::nullopt;
  Cursor cursor(bytes_);
  const auto header = read_array_header(&cursor, {});
  if (!header) return Array(ValueType::U8, 0, {});
  return Array(header->type, header->count, cursor.rest());
}

Array::Iterator& Array::Iterator::operator++() {
  Cursor cursor(rest_);
  left_ = skip_value(&cursor, type_, {}) ? left_ - 1 : 0;  // never fails on what was checked on opening
  rest_ = cursor.rest();
  return *this;
}

Result<Metadata> Metadata::read(Cursor* cursor, std::span<const std::uint8_t> file, std::uint64_t count) {
  // The pairs that are there are counted before memory is taken for them.
  const Cursor start = *cursor;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t offset = cursor->position();
    const std::string which = "metadata pair " + number(i + 1) + " of " + number(count);
    std::uint64_t length = 0;
    std::span<const std::uint8_t> key;
    std::uint32_t type = 0;
    if (!cursor->read(&length)) return file_ends_inside(*cursor, which, sizeof length);
    if (length == 0) return malformed(which + " has an empty key", offset);
    if (length > max_name_bytes) {
      return malformed(which + " has a key of " + number(length) + " bytes; " + number(max_name_bytes) + " are allowed",
                       offset);
    }
    if (!cursor->take(length, &key)) return file_ends_inside(*cursor, which, length);
    if (std::ranges::find(key, 0) != key.end()) return malformed("the key of " + which + " holds a null byte", offset);
    const std::string what = "the metadata value of " + quoted(as_text(key));
    const std::uint64_t type_offset = cursor->position();
    if (!cursor->read(&type)) return file_ends_inside(*cursor, what, sizeof type);
    if (type >= value_type_count) {
      return malformed(what + " is of unknown type " + number(type) + "; known are 0 to 12", type_offset);
    }
    LW_TRY(skip_value(cursor, static_cast<ValueType>(type), what));
  }
  static_assert(sizeof(std::uint64_t) + sizeof(std::uint32_t) <= least_pair_bytes);
  if (count > UINT32_MAX) return malformed(number(count) + " metadata pairs are more than 2^32 - 1", start.position());

  Metadata out;
  out.file_ = file;
  out.count_ = count;
  out.offsets_ = std::make_unique<std::uint64_t[]>(count + 1);  // never of size 0
  out.by_key_ = std::make_unique<std::uint32_t[]>(count);
  Cursor again = start;
  for (std::uint64_t i = 0; i < count; ++i) {
    out.offsets_[i] = again.position();
    std::uint64_t length = 0;
    std::uint32_t type = 0;
    (void)(again.read(&length) && again.skip(length) && again.read(&type));
    LW_TRY(skip_value(&again, static_cast<ValueType>(type), {}));
  }
  const std::span by_key(out.by_key_.get(), count);
  std::iota(by_key.begin(), by_key.end(), 0u);
  const auto key_of = [&out](std::uint32_t index) { return out.at(index).key; };
  std::ranges::sort(by_key, [&](std::uint32_t a, std::uint32_t b) {
    const int order = key_of(a).compare(key_of(b));
    return order != 0 ? order < 0 : a < b;
  });
  const auto twin = std::ranges::adjacent_find(by_key, {}, key_of);
  if (twin != by_key.end()) {
    return malformed("the metadata key " + quoted(key_of(*twin)) + " is there twice", out.offsets_[*(twin + 1)]);
  }
  return out;
}

Pair Metadata::at(std::uint64_t index) const {
  Cursor cursor(file_, offsets_[index]);
  std::uint64_t length = 0;
  std::uint32_t type = 0;
  std::span<const std::uint8_t> key;
  if (!cursor.read(&length) || !cursor.take(length, &key) || !cursor.read(&type) || type >= value_type_count) return {};
  return {as_text(key), Value(static_cast<ValueType>(type), cursor.rest())};
}

std::optional<std::uint64_t> Metadata::index_of(std::string_view key) const {
  const std::span by_key(by_key_.get(), count_);
  const auto key_of = [this](std::uint32_t index) { return at(index).key; };
  const auto found = std::ranges::lower_bound(by_key, key, {}, key_of);
  if (found == by_key.end() || key_of(*found) != key) return std::nullopt;
  return *found;
}

std::optional<Value> Metadata::find(std::string_view key) const {
  const auto index = index_of(key);
  if (!index) return std::nullopt;
  return at(*index).value;
}

std::optional<std::uint64_t> Metadata::offset_of(std::string_view key) const {
  const auto index = index_of(key);
  if (!index) return std::nullopt;
  return offsets_[*index];
}

}  // namespace lanewise::gguf
