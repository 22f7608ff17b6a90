#include "bench_plan.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "gguf/escape.h"
#include "model.h"
#include "selection.h"

namespace lanewise::program {
namespace {

const std::vector<std::string> default_formats{"q8_0", "q6_K", "q4_K", "q4_0", "iq2_xxs"};
constexpr Shape default_shape{14336, 4096};

Result<Shape> parse_shape(const std::string& text) {
  Shape shape{};
  const char* end = text.data() + text.size();
  const auto cols = std::from_chars(text.data(), end, shape.cols);
  if (cols.ec == std::errc{} && cols.ptr != end && *cols.ptr == 'x') {
    const auto rows = std::from_chars(cols.ptr + 1, end, shape.rows);
    if (rows.ec == std::errc{} && rows.ptr == end && shape.cols != 0 && shape.rows != 0) return shape;
  }
  return make_error(LW_ERROR_ARGUMENT, fmt::format("'{}' is no shape: K x rows is written 4096x14336",
                                                   gguf::escape_for_terminal(text, 40)));
}

// Broken at spaces to lines that fit the table's width.
std::string wrapped(std::string text) {
  constexpr std::size_t width = 100;
  for (std::size_t at = 0; text.size() - at > width;) {
    const std::size_t space = text.rfind(' ', at + width);
    if (space == std::string::npos || space <= at) break;
    text[space] = '\n';
    at = space + 1;
  }
  return text;
}

Result<BenchPlan> plan_model(const BenchOptions& options, const std::vector<Format>& formats) {
  if (!options.shapes.empty()) {
    return make_error(LW_ERROR_ARGUMENT, "--model takes its shapes from the file: leave --shape out");
  }
  LW_ASSIGN(model, open_model(options.model));
  ModelShapes found = shapes_of(model);
  BenchPlan plan;
  plan.notes = std::move(found.notes);
  for (const ModelShape& shape : found.shapes) {
    if (!formats.empty() && std::ranges::count(formats, shape.format) == 0) continue;
    plan.shapes.push_back(shape);
    plan.matrices.push_back({shape.format, {shape.rows, shape.cols}});
  }
  if (!formats.empty() && plan.shapes.size() < found.shapes.size()) {
    plan.notes.push_back(
        fmt::format("--format leaves out {} of the model's {} shapes: the projection has the rest alone",
                    found.shapes.size() - plan.shapes.size(), found.shapes.size()));
  }
  if (!plan.matrices.empty()) return plan;
  return make_error(LW_ERROR_NOT_FOUND, fmt::format("there is no matrix of weights in '{}'{}", printable(options.model),
                                                    formats.empty() ? " to time" : " that --format asks for"));
}

}  // namespace

Result<BenchPlan> plan_bench(const BenchOptions& options) {
  const bool defaults = options.formats.empty() && options.model.empty();
  LW_ASSIGN(formats, parse_formats(defaults ? default_formats : options.formats));
  if (!options.model.empty()) return plan_model(options, formats);
  std::vector<Shape> shapes;
  for (const std::string& text : options.shapes) {
    LW_ASSIGN(shape, parse_shape(text));
    shapes.push_back(shape);
  }
  if (shapes.empty()) shapes.push_back(default_shape);
  BenchPlan plan;
  for (const Shape& shape : shapes) {
    for (const Format format : formats) plan.matrices.push_back({format, shape});
  }
  return plan;
}

PeerOptions peer_options(const BenchOptions& options) {
  return {options.peer, options.peer_words, std::chrono::milliseconds(std::llround(1e3 * options.peer_patience))};
}

void print_projections(Output& out, const std::vector<Projection>& projections) {
  out.text("\n" + wrapped(fmt::format("projection: {}", projection_leaves_out)) + "\n");
  for (const Projection& each : projections) {
    out.print("  windows of {}: {:.1f} ms, {:.1f} tokens/s\n", each.tokens, each.milliseconds, each.tokens_per_second);
  }
}

Json model_json(const std::string& file, const std::vector<ModelShape>& shapes,
                const std::vector<Projection>& projections) {
  Json listed = Json::array();
  for (const ModelShape& shape : shapes) {
    listed.push_back({{"format", format_info(shape.format).name},
                      {"rows", shape.rows},
                      {"cols", shape.cols},
                      {"matrices", shape.count},
                      {"passes", shape.passes}});
  }
  Json list = Json::array();
  for (const Projection& each : projections) {
    list.push_back({{"tokens", each.tokens}, {"ms", each.milliseconds}, {"tokens_per_second", each.tokens_per_second}});
  }
  return {{"file", file}, {"shapes", listed}, {"projection", list}, {"leaves_out", projection_leaves_out}};
}

}  // namespace lanewise::program
