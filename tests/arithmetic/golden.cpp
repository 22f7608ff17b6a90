#include "arithmetic/golden.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <sstream>

namespace lanewise::golden {
namespace {

constexpr const char* header =
    "lanewise-golden 1\n"
    "arithmetic 1\n"
    "source the oracle of src/oracle, by tests/arithmetic/make_golden.cpp; README.md defines this text\n";
constexpr std::size_t values_a_line = 16;
constexpr std::size_t bytes_a_line = 32;

// ---- writing ----

std::string hex(std::uint64_t value, int digits) {
  std::string text(static_cast<std::size_t>(digits), '0');
  for (auto at = text.rbegin(); at != text.rend(); ++at, value >>= 4) *at = "0123456789abcdef"[value & 15];
  return text;
}
// Any NaN is one: inside the chain its sign and payload are open.
std::string hex(float value) { return hex(std::isnan(value) ? 0x7FC00000u : std::bit_cast<std::uint32_t>(value), 8); }

template <class Values, class Show>
void in_lines(std::string& out, const std::string& key, const Values& values, std::size_t first, std::size_t count,
              std::size_t a_line, const char* between, Show show) {
  for (std::size_t start = 0; start < count; start += a_line) {
    out += key + " " + std::to_string(start) + (*between == '\0' ? " " : "");
    for (std::size_t i = start; i < std::min(count, start + a_line); ++i) out += between + show(values[first + i]);
    out += "\n";
  }
}

void write_token(std::string& out, const Token& token, std::size_t t) {
  const std::string at = std::to_string(t);
  if (token.poisoned) {
    out += "poisoned " + at + "\n";
    return;
  }
  out += "e " + at;
  for (const int e : token.e) out += " " + std::to_string(e);
  out += "\n";
  in_lines(out, "q " + at, token.q, 0, token.q.size(), values_a_line, " ",
           [](std::int32_t q) { return std::to_string(q); });
  for (std::size_t p = 0; p < token.planes.size(); ++p) {
    in_lines(out, "plane " + at + " " + std::to_string(p), token.planes[p], 0, token.planes[p].size(), bytes_a_line, "",
             [](std::int8_t value) { return hex(static_cast<std::uint8_t>(value), 2); });
  }
}

void write_output(std::string& out, const Output& output) {
  out += "output " + std::to_string(output.row) + " " + std::to_string(output.token) + "\n";
  for (const Sum& sum : output.sums) {
    out += (sum.is_min ? "M " : "J ") + std::to_string(sum.k);
    for (const std::int64_t value : sum.planes) out += " " + std::to_string(value);
    out += " " + hex(sum.value) + " " + hex(sum.scale) + "\n";
  }
  for (const Step& step : output.steps) {
    out += "step " + std::to_string(step.k) + " " + std::to_string(step.g) + " " + std::to_string(step.v) + " " +
           step.kind + " " + hex(step.term) + " " + hex(step.after) + "\n";
  }
  for (std::size_t g = 0; g < output.a.size(); ++g) {
    if (output.a[g].empty()) continue;
    out += "a " + std::to_string(g);
    for (const float value : output.a[g]) out += " " + hex(value);
    out += "\n";
  }
  if (!output.r.empty()) {
    out += "r";
    for (const float value : output.r) out += " " + hex(value);
    out += "\n";
  }
  out += "y " + hex(output.y) + " " + hex(output.y_fp16, 4) + " " + hex(output.y_bf16, 4) + "\n";
}

// ---- reading ----

// One line, field by field; a field that isn't as asked makes the line bad.
class Line {
 public:
  explicit Line(const std::string& text) : stream_(text) {}
  std::string word() {
    std::string field;
    if (!(stream_ >> field)) good_ = false;
    return field;
  }
  template <class Integer = std::int64_t>
  Integer integer(int base = 10) {
    const std::string field = word();
    Integer value{};
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value, base);
    if (error != std::errc{} || end != field.data() + field.size()) good_ = false;
    return value;
  }
  // 0 .. end-1.
  std::size_t index(std::size_t end) {
    const auto value = integer<std::size_t>();
    if (value >= end) good_ = false;
    return value < end ? value : 0;
  }
  float real() { return std::bit_cast<float>(integer<std::uint32_t>(16)); }
  bool more() { return !(stream_ >> std::ws).eof(); }
  [[nodiscard]] bool good() const { return good_; }
  void fail() { good_ = false; }

 private:
  std::istringstream stream_;
  bool good_ = true;
};

// Values that follow at `first` of an array that so far ends there.
template <class T, class Read>
void append(Line& line, std::vector<T>& values, std::size_t limit, Read read) {
  if (line.integer<std::size_t>() != values.size()) line.fail();
  while (line.good() && line.more()) values.push_back(read());
  if (values.size() > limit) line.fail();
}
void append_bytes(Line& line, std::vector<std::uint8_t>& bytes, std::size_t limit) {
  if (line.integer<std::size_t>() != bytes.size()) line.fail();
  const std::string digits = line.word();
  if (digits.size() % 2 != 0) line.fail();
  for (std::size_t i = 0; i + 1 < digits.size() && line.good(); i += 2) {
    bytes.push_back(Line(digits.substr(i, 2)).integer<std::uint8_t>(16));
  }
  if (bytes.size() > limit) line.fail();
}

class Reader {
 public:
  explicit Reader(File& file) : file_(file) {}

  // False where the line has no place in the text.
  bool take(const std::string& text) {
    Line line(text);
    const std::string key = line.word();
    if (key == "about") {
      file_.about = text.substr(std::min(text.size(), key.size() + 1));
      return true;
    }
    if (key == "format") {
      file_.format = line.word();
      file_.id = line.integer<int>();
      file_.block_elements = line.integer<int>();
      file_.block_bytes = line.integer<int>();
      if (file_.block_elements <= 0) return false;
    } else if (key == "shape") {
      file_.rows = line.integer();
      file_.cols = line.integer();
      file_.tokens = line.integer();
      if (file_.block_elements == 0 || file_.cols % file_.block_elements != 0) return false;
      rows_.resize(static_cast<std::size_t>(file_.rows));
      xs_.resize(static_cast<std::size_t>(file_.tokens));
    } else if (key == "w") {
      append_bytes(line, rows_at(line),
                   static_cast<std::size_t>(file_.cols / file_.block_elements * file_.block_bytes));
    } else if (key == "x") {
      auto& x = xs_.at(line.index(xs_.size()));
      append(line, x, cols(), [&] { return line.integer<std::uint32_t>(16); });
    } else if (key == "planes") {
      file_.sections.push_back({line.integer<int>(), std::vector<Token>(xs_.size()), {}});
    } else if (file_.sections.empty() || !take_stage(key, line)) {
      return false;
    }
    return line.good() && !line.more();
  }

  bool finish() {
    for (const auto& row : rows_) file_.weights.insert(file_.weights.end(), row.begin(), row.end());
    for (const auto& x : xs_) file_.x.insert(file_.x.end(), x.begin(), x.end());
    return file_.block_elements > 0 &&
           static_cast<std::int64_t>(file_.weights.size()) ==
               file_.rows * (file_.cols / file_.block_elements) * file_.block_bytes &&
           static_cast<std::int64_t>(file_.x.size()) == file_.tokens * file_.cols && !file_.sections.empty();
  }

 private:
  std::size_t cols() const { return static_cast<std::size_t>(file_.cols); }
  std::vector<std::uint8_t>& rows_at(Line& line) { return rows_.at(line.index(rows_.size())); }

  bool take_stage(const std::string& key, Line& line) {
    Section& section = file_.sections.back();
    const auto token = [&]() -> Token& { return section.tokens.at(line.index(section.tokens.size())); };
    if (key == "poisoned") {
      token().poisoned = true;
    } else if (key == "e") {
      Token& t = token();
      while (line.good() && line.more()) t.e.push_back(line.integer<int>());
    } else if (key == "q") {
      Token& t = token();
      append(line, t.q, cols(), [&] { return line.integer<std::int32_t>(); });
    } else if (key == "plane") {
      Token& t = token();
      const std::size_t p = line.index(3);
      t.planes.resize(std::max(t.planes.size(), p + 1));
      std::vector<std::uint8_t> bytes(t.planes[p].begin(), t.planes[p].end());
      append_bytes(line, bytes, cols());
      t.planes[p].assign(bytes.begin(), bytes.end());
    } else if (key == "output") {
      section.outputs.emplace_back();
      section.outputs.back().row = line.integer();
      section.outputs.back().token = line.integer();
    } else if (section.outputs.empty()) {
      return false;
    } else {
      return take_output(key, line, section.outputs.back(), section.planes);
    }
    return true;
  }

  static bool take_output(const std::string& key, Line& line, Output& output, int planes) {
    if (key == "J" || key == "M") {
      Sum sum;
      sum.is_min = key == "M";
      sum.k = line.integer();
      for (int p = 0; p < planes; ++p) sum.planes.push_back(line.integer());
      sum.value = line.real();
      sum.scale = line.real();
      output.sums.push_back(sum);
    } else if (key == "step") {
      Step step;
      step.k = line.integer();
      step.g = line.integer<int>();
      step.v = line.integer<int>();
      step.kind = (line.word() + " ").front();
      step.term = line.real();
      step.after = line.real();
      output.steps.push_back(step);
    } else if (key == "a") {
      auto& a = output.a.at(line.index(8));
      while (line.good() && line.more()) a.push_back(line.real());
    } else if (key == "r") {
      while (line.good() && line.more()) output.r.push_back(line.real());
    } else if (key == "y") {
      output.y = line.real();
      output.y_fp16 = line.integer<std::uint16_t>(16);
      output.y_bf16 = line.integer<std::uint16_t>(16);
    } else {
      return false;
    }
    return true;
  }

  File& file_;
  std::vector<std::vector<std::uint8_t>> rows_;
  std::vector<std::vector<std::uint32_t>> xs_;
};

}  // namespace

std::string to_text(const File& file) {
  std::string out = header;
  out += "about " + file.about + "\n";
  const auto row_bytes = file.weights.size() / static_cast<std::size_t>(file.rows);
  // The block's facts stand in the text, so that it can be read without knowing the format.
  out += "format " + file.format + " " + std::to_string(file.id) + " " + std::to_string(file.block_elements) + " " +
         std::to_string(file.block_bytes) + "\n";
  out +=
      "shape " + std::to_string(file.rows) + " " + std::to_string(file.cols) + " " + std::to_string(file.tokens) + "\n";
  for (std::size_t r = 0; r < static_cast<std::size_t>(file.rows); ++r) {
    in_lines(out, "w " + std::to_string(r), file.weights, r * row_bytes, row_bytes, bytes_a_line, "",
             [](std::uint8_t byte) { return hex(byte, 2); });
  }
  const auto cols = static_cast<std::size_t>(file.cols);
  for (std::size_t t = 0; t < static_cast<std::size_t>(file.tokens); ++t) {
    in_lines(out, "x " + std::to_string(t), file.x, t * cols, cols, values_a_line, " ",
             [](std::uint32_t x) { return hex(x, 8); });
  }
  for (const Section& section : file.sections) {
    out += "planes " + std::to_string(section.planes) + "\n";
    for (std::size_t t = 0; t < section.tokens.size(); ++t) write_token(out, section.tokens[t], t);
    for (const Output& output : section.outputs) write_output(out, output);
  }
  return out + "end\n";
}

bool parse(std::string_view text, File& file, std::string& error) {
  const std::string_view start = header;
  if (text.substr(0, start.size()) != start) {
    error = "the first three lines are not the header";
    return false;
  }
  Reader reader(file);
  std::istringstream lines{std::string(text.substr(start.size()))};
  std::string line;
  for (int number = 4; std::getline(lines, line); ++number) {
    if (line == "end") {
      const bool last = !std::getline(lines, line);
      const bool whole = reader.finish();
      if (!last || !whole) error = last ? "an array is not whole" : "text follows the end";
      return last && whole;
    }
    if (!reader.take(line)) {
      error = "line " + std::to_string(number) + " has no place here: " + line;
      return false;
    }
  }
  error = "no line `end`";
  return false;
}

}  // namespace lanewise::golden
