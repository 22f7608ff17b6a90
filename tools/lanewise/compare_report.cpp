#include "compare_report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model.h"

namespace lanewise::program {
namespace {

constexpr std::size_t most_named = 5;

// The mean of squared errors, each by its weight.
class MeanSquare {
 public:
  void add(std::optional<double> error, double weight) {
    if (!error) return;
    sum_ += *error * *error * weight;
    weights_ += weight;
  }
  [[nodiscard]] std::optional<double> root() const {
    return weights_ > 0 ? std::optional<double>(std::sqrt(sum_ / weights_)) : std::nullopt;
  }

 private:
  double sum_ = 0;
  double weights_ = 0;
};

double elements_of(const ComparedMatrix& matrix) {
  return static_cast<double>(matrix.rows) * static_cast<double>(matrix.cols);
}

bool is_multiplied(const ComparedMatrix& matrix) { return !matrix.is_vector && matrix.passes > 0; }

// Three digits of a part, as per cent.
std::string percent(std::optional<double> part) {
  if (!part) return "-";
  const double value = 100 * *part;
  if (value == 0) return "0";
  if (value < 0.001) return fmt::format("{:.1e}", value);
  return fmt::format("{:.{}f}", value, value < 0.1 ? 4 : value < 1 ? 3 : value < 10 ? 2 : 1);
}

std::string decibels(std::optional<double> db) { return db ? fmt::format("{:.1f}", *db) : "-"; }

// One row of a table: a tensor, or those of one kind and format.
struct RowSums {
  std::string name;
  Format format = Format::F32;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  double elements = 0;
  MeanSquare weights, outputs;
  std::optional<double> worst;  // weight, over the RMS of its matrix
  std::vector<double> us;

  void add(const ComparedMatrix& matrix) {
    ++count;
    bytes += matrix.bytes;
    elements += elements_of(matrix);
    weights.add(matrix.errors.weights.relative_rms(), elements_of(matrix));
    if (is_multiplied(matrix)) outputs.add(matrix.errors.outputs.relative_rms(), elements_of(matrix));
    if (const auto over = matrix.errors.weights.worst_over_rms()) worst = std::max(worst.value_or(0), *over);
    us.resize(std::max(us.size(), matrix.us.size()));
    for (std::size_t i = 0; i < matrix.us.size(); ++i) us[i] += matrix.us[i] * matrix.passes;
  }
};

std::string shortened(std::string_view name, std::size_t width) {
  const std::string text = printable(name);
  return text.size() <= width ? text : "..." + text.substr(text.size() - (width - 3));
}

std::string without_suffix(const std::string& name) {
  constexpr std::string_view suffix = ".weight";
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json errors_json(const ValueErrors& errors) {
  return {{"relative_rms", optional_json(errors.relative_rms())},
          {"snr_db", optional_json(errors.snr_db())},
          {"cosine", optional_json(errors.cosine())},
          {"max", errors.worst},
          {"max_over_rms", optional_json(errors.worst_over_rms())},
          {"values", errors.values},
          {"not_finite", errors.not_finite}};
}

Json us_json(const std::vector<std::uint64_t>& windows, const std::vector<double>& us) {
  Json list = Json::array();
  for (std::size_t i = 0; i < us.size(); ++i) list.push_back({{"tokens", windows[i]}, {"us", us[i]}});
  return list;
}

Json matrix_json(const ComparedMatrix& matrix, const std::vector<std::uint64_t>& windows) {
  Json out{{"name", matrix.name},     {"format", format_info(matrix.format).name},
           {"cols", matrix.cols},     {"rows", matrix.rows},
           {"bytes", matrix.bytes},   {"bits_per_weight", 8 * static_cast<double>(matrix.bytes) / elements_of(matrix)},
           {"passes", matrix.passes}, {"weights", errors_json(matrix.errors.weights)}};
  if (!is_multiplied(matrix)) return out;
  out["x"] = matrix.x_given ? "given" : "gauss";
  out["outputs"] = errors_json(matrix.errors.outputs);
  out["arithmetic"] = optional_json(matrix.errors.arithmetic.relative_rms());
  if (!matrix.us.empty()) out["us"] = us_json(windows, matrix.us);
  return out;
}

Json file_json(const ComparedFile& file, const std::vector<std::uint64_t>& windows) {
  const FileSummary sum = summarise(file, windows.size());
  Json out{{"file", file.path},
           {"format", sum.format},
           {"matrices_compared", sum.matrices},
           {"weights", sum.weights},
           {"bytes", sum.bytes},
           {"bits_per_weight", sum.bits_per_weight},
           {"weight_error", optional_json(sum.weight_error)},
           {"output_error", optional_json(sum.output_error)},
           {"arithmetic_error", optional_json(sum.arithmetic_error)}};
  out["worst"] = sum.worst != nullptr ? Json(sum.worst->name) : Json(nullptr);
  out["us"] = us_json(windows, sum.us);
  out["only_in_reference"] = file.only_in_reference;
  out["only_here"] = file.only_here;
  out["other_shape"] = file.other_shape;
  out["not_weights"] = file.not_weights;
  Json matrices = Json::array();
  for (const ComparedMatrix& matrix : file.matrices) matrices.push_back(matrix_json(matrix, windows));
  out["matrices"] = std::move(matrices);
  return out;
}

std::string named(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() == most_named) break;
    shown.push_back(printable(name));
  }
  const std::string more = names.size() > most_named ? fmt::format(" and {} more", names.size() - most_named) : "";
  return fmt::format("{}{}", fmt::join(shown, ", "), more);
}

}  // namespace

std::string kind_of_name(const std::string& name) {
  std::string kind;
  for (std::size_t at = 0; at < name.size();) {
    const bool starts = at == 0 || name[at - 1] == '.' || name[at - 1] == '[';
    std::size_t end = at;
    while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
    if (starts && end > at && (end == name.size() || name[end] == '.' || name[end] == ']')) {
      kind += '*';
      at = end;
    } else {
      kind += name[at++];
    }
  }
  return kind;
}

FileSummary summarise(const ComparedFile& file, std::size_t windows) {
  FileSummary sum;
  MeanSquare weights, outputs, arithmetic;
  std::map<std::string_view, std::uint64_t> formats;
  std::vector<double> us(windows, 0.0);
  bool timed = false;
  for (const ComparedMatrix& matrix : file.matrices) {
    if (matrix.is_vector) continue;
    ++sum.matrices;
    sum.weights += matrix.rows * matrix.cols;
    sum.bytes += matrix.bytes;
    formats[format_info(matrix.format).name] += matrix.bytes;
    weights.add(matrix.errors.weights.relative_rms(), elements_of(matrix));
    if (!is_multiplied(matrix)) continue;
    const auto error = matrix.errors.outputs.relative_rms();
    outputs.add(error, elements_of(matrix));
    arithmetic.add(matrix.errors.arithmetic.relative_rms(), elements_of(matrix));
    if (error && (sum.worst == nullptr || *error > *sum.worst->errors.outputs.relative_rms())) sum.worst = &matrix;
    for (std::size_t i = 0; i < std::min(windows, matrix.us.size()); ++i) us[i] += matrix.us[i] * matrix.passes;
    timed = timed || !matrix.us.empty();
  }
  if (!formats.empty()) {
    sum.format = std::ranges::max_element(formats, {}, [](const auto& each) { return each.second; })->first;
  }
  if (sum.weights != 0) sum.bits_per_weight = 8 * static_cast<double>(sum.bytes) / static_cast<double>(sum.weights);
  sum.weight_error = weights.root();
  sum.output_error = outputs.root();
  sum.arithmetic_error = arithmetic.root();
  if (timed) sum.us = std::move(us);
  return sum;
}

std::vector<std::string> CompareReport::findings() const {
  std::vector<std::string> list = notes;
  const auto say = [&](const ComparedFile& file, const std::vector<std::string>& names, std::string_view what) {
    if (names.empty()) return;
    list.push_back(fmt::format("{}: {} {}: {}", printable(file.path), names.size(), what, named(names)));
  };
  for (const ComparedFile& file : files) {
    say(file, file.only_in_reference, "of the reference aren't there");
    say(file, file.only_here, "aren't in the reference");
    say(file, file.other_shape, "have another shape in the reference");
    say(file, file.not_weights, "are of a type that is no weight format");
    std::vector<std::string> infinite, unknown;
    for (const ComparedMatrix& matrix : file.matrices) {
      if (matrix.errors.weights.not_finite != 0) infinite.push_back(matrix.name);
      if (!matrix.errors.weights.relative_rms()) unknown.push_back(matrix.name);
    }
    say(file, infinite, "hold weights that aren't finite (or the reference does), which no figure counts");
    say(file, unknown, "have no relative error, since the reference is all zero there");
  }
  return list;
}

void CompareReport::print(Output& out, bool every_tensor) const {
  out.print("x: {}, held as {}; errors are relative to the reference (RMS), in double\n", x, activation);
  for (const std::string& note : findings()) out.print("note: {}\n", note);
  for (std::size_t i = 1; i < files.size(); ++i) print_file(out, files[i], every_tensor);
  print_summary(out);
}

void CompareReport::print_file(Output& out, const ComparedFile& file, bool every_tensor) const {
  std::vector<RowSums> rows;
  std::uint64_t same = 0;
  for (const ComparedMatrix& matrix : file.matrices) {
    if (matrix.is_vector && matrix.errors.weights.squares == 0 && matrix.errors.weights.not_finite == 0) {
      ++same;
      continue;
    }
    const std::string name = every_tensor ? matrix.name : kind_of_name(matrix.name);
    auto row = std::ranges::find_if(
        rows, [&](const RowSums& each) { return each.name == name && each.format == matrix.format; });
    if (row == rows.end()) {
      row = rows.insert(rows.end(), RowSums{});
      row->name = name;
      row->format = matrix.format;
    }
    row->add(matrix);
  }
  out.print("\n{}\n{:<26} {:<7} {:>9} {:>5} {:>8} {:>6} {:>8} {:>5}", printable(file.path), "tensor", "format", "MB",
            "b/w", "weights%", "worst", "outputs%", "dB");
  if (timed) {
    for (const std::uint64_t window : windows) out.print(" {:>9}", fmt::format("us n={}", window));
  }
  out.text("\n");
  for (const RowSums& row : rows) {
    const std::string count = row.count > 1 ? fmt::format(" ({})", row.count) : "";
    const auto outputs = row.outputs.root();
    const auto db = outputs && *outputs > 0 ? std::optional<double>(-20 * std::log10(*outputs)) : std::nullopt;
    out.print("{:<26} {:<7} {:>9.3f} {:>5.2f} {:>8} {:>6} {:>8} {:>5}",
              shortened(without_suffix(row.name), 26 - count.size()) + count, format_info(row.format).name,
              static_cast<double>(row.bytes) / 1e6, 8 * static_cast<double>(row.bytes) / row.elements,
              percent(row.weights.root()), row.worst ? fmt::format("{:.2f}", *row.worst) : "-", percent(outputs),
              decibels(db));
    if (timed) {
      for (std::size_t i = 0; i < windows.size(); ++i) {
        out.print(" {:>9}", i < row.us.size() && row.us[i] > 0 ? fmt::format("{:.1f}", row.us[i]) : "-");
      }
    }
    out.text("\n");
  }
  if (same != 0) out.print("{} vector{} the same as in the reference\n", same, same == 1 ? " is" : "s are");
}

void CompareReport::print_summary(Output& out) const {
  out.print("\n{:<30} {:<7} {:>9} {:>5} {:>8} {:>8} {:>5}", "file", "most", "MB", "b/w", "weights%", "outputs%", "dB");
  if (timed) {
    for (const std::uint64_t window : windows) out.print(" {:>9}", fmt::format("us n={}", window));
  }
  out.text("\n");
  for (const ComparedFile& file : files) {
    const FileSummary sum = summarise(file, windows.size());
    const auto error = sum.output_error;
    const auto db = error && *error > 0 ? std::optional<double>(-20 * std::log10(*error)) : std::nullopt;
    out.print("{:<30} {:<7} {:>9.3f} {:>5.2f} {:>8} {:>8} {:>5}", shortened(file.path, 30), sum.format,
              static_cast<double>(sum.bytes) / 1e6, sum.bits_per_weight, percent(sum.weight_error), percent(error),
              decibels(db));
    for (const double us : sum.us) out.print(" {:>9.1f}", us);
    out.text("\n");
  }
  out.text(
      "weights%, outputs%: RMS of the difference over the reference's, each matrix by the number of its weights; "
      "worst:\n"
      "the largest difference of a weight over the RMS of its matrix; dB: -20 log10 of the outputs'. The first line "
      "is\n"
      "the reference: its outputs' error is the arithmetic's alone\n");
  if (timed) out.text("us: the matrices that a window reads, one after the other, x made beforehand\n");
}

Json CompareReport::json() const {
  Json out{{"kind", "compare"}, {"library_version", lw_version()}, {"arithmetic_version", lw_arithmetic_version()}};
  out["x"] = {{"what", x}, {"activation", activation}};
  out["windows"] = windows;
  out["timed"] = timed;
  out["notes"] = findings();
  out["reference"] = file_json(files[0], windows);
  Json others = Json::array();
  for (std::size_t i = 1; i < files.size(); ++i) others.push_back(file_json(files[i], windows));
  out["files"] = std::move(others);
  return out;
}

}  // namespace lanewise::program
