#include "npy.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "base/checked.h"
#include "gguf/escape.h"

namespace lanewise::program {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::uint64_t longest_header = 1 << 16;  // NumPy itself writes about 100 bytes
constexpr std::size_t most_dims = 8;

// The header: a Python dict literal of strings, booleans and a tuple of numbers.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::uint64_t offset) : text_(text), offset_(offset) {}

  Result<NpyHeader> parse() {
    NpyHeader header;
    bool have_descr = false;
    bool have_order = false;
    bool have_shape = false;
    if (!accept('{')) return fault("a '{' is missing");
    while (!accept('}')) {
      const std::uint64_t at = here();
      LW_ASSIGN(key, string());
      if (!accept(':')) return fault("a ':' is missing after the key");
      bool* have = key == "descr"           ? &have_descr
                   : key == "fortran_order" ? &have_order
                   : key == "shape"         ? &have_shape
                                            : nullptr;
      if (have == nullptr)
        return fault_at(at,
                        "the key '" + gguf::escape_for_terminal(key, 40) + "' is none of descr, fortran_order, shape");
      if (std::exchange(*have, true)) return fault_at(at, "the key '" + key + "' stands twice");
      if (key == "descr") LW_TRY(descr(&header));
      if (key == "fortran_order") LW_TRY(order(&header));
      if (key == "shape") LW_TRY(shape(&header));
      if (!accept(',') && peek() != '}') return fault("a ',' or '}' is missing");
    }
    if (position_ != text_.size()) return fault("something follows the closing '}'");
    if (!have_descr || !have_order || !have_shape) return fault("descr, fortran_order or shape is missing");
    // Only now: an array of one dimension or fewer is the same in both orders, and NumPy marks a vector as either.
    if (fortran_ && header.shape.size() > 1) {
      return make_error(LW_ERROR_UNSUPPORTED, "the array is in Fortran order: save numpy.ascontiguousarray(x) instead",
                        order_at_);
    }
    return header;
  }

 private:
  [[nodiscard]] std::uint64_t here() const { return offset_ + position_; }
  static Error fault_at(std::uint64_t at, const std::string& what) {
    return make_error(LW_ERROR_ARGUMENT, "the .npy header is malformed: " + what, at);
  }
  [[nodiscard]] Error fault(const std::string& what) const { return fault_at(here(), what); }

  void skip_space() {
    while (position_ < text_.size() &&
           (text_[position_] == ' ' || text_[position_] == '\n' || text_[position_] == '\t'))
      ++position_;
  }
  char peek() {
    skip_space();
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++position_;
    skip_space();
    return true;
  }
  bool accept(std::string_view word) {
    skip_space();
    if (text_.substr(position_, word.size()) != word) return false;
    position_ += word.size();
    return true;
  }

  Result<std::string> string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return fault("a string is missing");
    const std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) return fault("a string doesn't end");
    std::string value(text_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    return value;
  }

  Outcome descr(NpyHeader* header) {
    const std::uint64_t at = here();
    if (peek() == '[')
      return make_error(LW_ERROR_UNSUPPORTED, "the array has fields: fp32 ('<f4') or fp16 ('<f2') is wanted", at);
    LW_ASSIGN(name, string());
    if (name == "<f4") {
      header->dtype = Dtype::f32;
    } else if (name == "<f2") {
      header->dtype = Dtype::f16;
    } else if (name == ">f4" || name == ">f2") {
      return make_error(LW_ERROR_UNSUPPORTED,
                        "the array is big-endian ('" + name + "'): save x.astype('<" + name.substr(1) + "') instead",
                        at);
    } else {
      return make_error(LW_ERROR_UNSUPPORTED,
                        "the array's type is '" + gguf::escape_for_terminal(name, 40) +
                            "', and fp32 ('<f4') or fp16 ('<f2') is wanted: save x.astype(numpy.float32) instead",
                        at);
    }
    return Done{};
  }

  Outcome order(NpyHeader*) {
    order_at_ = here();
    if (accept(std::string_view("False"))) return Done{};
    if (!accept(std::string_view("True"))) return fault("fortran_order is neither True nor False");
    fortran_ = true;
    return Done{};
  }

  Outcome shape(NpyHeader* header) {
    if (!accept('(')) return fault("the shape is no tuple");
    while (!accept(')')) {
      if (header->shape.size() == most_dims) return fault("the shape has more than 8 dimensions");
      const std::uint64_t at = here();
      std::uint64_t value = 0;
      std::size_t digits = 0;
      for (; position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9'; ++position_, ++digits) {
        const auto tens = checked_mul(value, 10);
        const auto sum = tens ? checked_add(*tens, static_cast<std::uint64_t>(text_[position_] - '0')) : std::nullopt;
        if (!sum) return fault_at(at, "a dimension doesn't fit 64 bits");
        value = *sum;
      }
      if (digits == 0) return fault("a dimension is no number");
      const auto product = checked_mul(header->elements, value);
      if (!product) return fault_at(at, "the product of the dimensions doesn't fit 64 bits");
      header->elements = *product;
      header->shape.push_back(value);
      if (!accept(',') && peek() != ')') return fault("a ',' or ')' is missing");
    }
    return Done{};
  }

  std::string_view text_;
  std::uint64_t offset_;  // of text_ in the file
  std::size_t position_ = 0;
  bool fortran_ = false;
  std::uint64_t order_at_ = 0;
};

}  // namespace

Result<NpyHeader> parse_npy(std::span<const std::uint8_t> file) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  if (bytes.substr(0, magic.size()) != magic) {
    return make_error(LW_ERROR_ARGUMENT, "this is no .npy file: write one with numpy.save", 0);
  }
  const auto ends = [&](std::uint64_t missing) {
    return make_error(
        LW_ERROR_FILE_TRUNCATED,
        fmt::format("the .npy file is cut short: {} byte{} missing", missing, missing == 1 ? " is" : "s are"),
        file.size());
  };
  std::uint64_t position = magic.size();
  if (file.size() < position + 2) return ends(position + 2 - file.size());
  const unsigned major = file[position];
  if (major < 1 || major > 3)
    return make_error(LW_ERROR_UNSUPPORTED, fmt::format("the .npy version is {}, and 1 to 3 are known", major),
                      position);
  position += 2;
  const std::uint64_t length_bytes = major == 1 ? 2 : 4;
  if (file.size() - position < length_bytes) return ends(length_bytes - (file.size() - position));
  std::uint64_t length = 0;
  for (std::uint64_t i = 0; i < length_bytes; ++i) length |= std::uint64_t{file[position + i]} << (8 * i);
  if (length > longest_header) {
    return make_error(LW_ERROR_ARGUMENT,
                      fmt::format("the .npy header claims {} bytes, and {} are the most taken", length, longest_header),
                      position);
  }
  position += length_bytes;
  if (file.size() - position < length) return ends(length - (file.size() - position));

  LW_ASSIGN(header, HeaderParser(bytes.substr(position, length), position).parse());
  header.data_offset = position + length;
  const auto data_bytes = checked_mul(header.elements, dtype_bytes(header.dtype));
  const std::uint64_t there = file.size() - header.data_offset;
  if (!data_bytes || *data_bytes > there) {
    return make_error(
        LW_ERROR_FILE_TRUNCATED,
        fmt::format("the .npy file is cut short: shape {} needs {} elements of {} bytes, and {} bytes are there",
                    shape_text(header.shape), header.elements, dtype_bytes(header.dtype), there),
        header.data_offset);
  }
  if (*data_bytes < there) {
    return make_error(LW_ERROR_ARGUMENT,
                      fmt::format("{} bytes follow the array: this is no plain .npy file", there - *data_bytes),
                      header.data_offset + *data_bytes);
  }
  return header;
}

std::string shape_text(std::span<const std::uint64_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  text += shape.size() == 1 ? ",)" : ")";
  return text;
}

std::string npy_header(std::span<const std::uint64_t> shape) {
  constexpr std::size_t prefix = 10;  // magic, version, length
  constexpr std::size_t unit = 64;
  std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  const std::size_t total = (prefix + dict.size() + 1 + unit - 1) / unit * unit;
  dict.append(total - prefix - dict.size() - 1, ' ');
  dict += '\n';
  std::string header(magic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(dict.size() & 0xFFu);
  header += static_cast<char>(dict.size() >> 8u);
  return header + dict;
}

}  // namespace lanewise::program
