// What a quantisation costs against what it spoils: bytes and time against the error of outputs.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "compare_report.h"
#include "report/axes.h"
#include "report/plots.h"
#include "report/strips.h"
#include "report/text.h"

namespace lanewise::program::report {
namespace {

struct Choice {
  std::string name;
  double cost;
  double error;
  std::string hover;
};

struct Trade {
  std::string axis_name;
  bool is_time;
  std::vector<Choice> choices;
};

// Without the folders, and what every name ends with.
std::string short_name(const std::string& file) {
  std::string name = file.substr(file.rfind('/') + 1);
  if (name.ends_with(".gguf")) name.resize(name.size() - 5);
  return name;
}

bool is_beaten(const Choice& choice, const std::vector<Choice>& all) {
  return std::ranges::any_of(all, [&](const Choice& other) {
    return other.cost <= choice.cost && other.error <= choice.error &&
           (other.cost < choice.cost || other.error < choice.error);
  });
}

void draw_trade(Svg& svg, const Trade& trade, const Box& box, const Range& errors) {
  std::vector<double> costs;
  for (const Choice& choice : trade.choices) costs.push_back(choice.cost);
  const Scale x = Scale::logarithmic(Range::logarithmic(costs).grown(0.14, true), box.left, box.right);
  const Scale y = Scale::logarithmic(errors, box.bottom, box.top);
  draw_x_axis(svg, x, box, {trade.axis_name, trade.is_time ? us_text : bytes_text, true});
  draw_y_axis(svg, y, box, {"error of outputs", percent_text, true});

  std::vector<const Choice*> front;
  for (const Choice& choice : trade.choices) {
    if (!is_beaten(choice, trade.choices)) front.push_back(&choice);
  }
  std::ranges::sort(front, {}, [](const Choice* each) { return each->cost; });
  Points steps;
  for (const Choice* each : front) {
    if (!steps.empty()) steps.emplace_back(x(each->cost), steps.back().second);
    steps.emplace_back(x(each->cost), y(each->error));
  }
  if (steps.size() > 1) svg.path(steps, "line front");

  // Labels stand right of their marks, left where there is no room, moved up or down so that none lies on another.
  std::vector<double> wanted;
  for (const Choice& choice : trade.choices) wanted.push_back(y(choice.error));
  const std::vector<double> placed = spread_labels(wanted, 15, box.top + 6, box.bottom - 4);
  for (std::size_t i = 0; i < trade.choices.size(); ++i) {
    const Choice& choice = trade.choices[i];
    const double at = x(choice.cost);
    const bool beaten = is_beaten(choice, trade.choices);
    const std::string name = cut_to(choice.name, label_size, box.width() * 0.6);
    const bool right = at + 10 + text_width(name, label_size) < box.right;
    const double label_x = right ? at + 10 : at - 10;
    if (std::abs(placed[i] - wanted[i]) > 3) svg.line(at, wanted[i], label_x, placed[i], "leader");
    svg.mark(0, at, wanted[i], 5, beaten ? "s5 hollow" : "s0", choice.hover);
    svg.text(label_x, placed[i] + 4, name, right ? Anchor::start : Anchor::end,
             beaten ? "label halo soft" : "label halo");
  }
}

std::string draw_trades(const std::vector<Trade>& trades, const Canvas& canvas, const std::string& title) {
  std::vector<double> all;
  for (const Trade& trade : trades) {
    for (const Choice& choice : trade.choices) all.push_back(choice.error);
  }
  const Range errors = Range::logarithmic(all).grown(0.12, true);
  const double top = 34;
  const double tall = canvas.narrow ? 260 : 340;
  const Scale y = Scale::logarithmic(errors, top + tall, top);
  const double left = y_axis_width(y, {"", percent_text, true});
  const bool beside = !canvas.narrow && trades.size() == 2;
  const double wide = beside ? (canvas.width - 30) / 2 : canvas.width;
  const double step = tall + 84;
  const double height = top + tall + 42 + (beside ? 0 : step * static_cast<double>(trades.size() - 1));
  Svg svg(canvas.id, canvas.width, height, title,
          "A mark a file: across, what it costs; up, the error of its outputs. The line joins those that no other file "
          "beats "
          "in both.");
  for (std::size_t i = 0; i < trades.size(); ++i) {
    const double x0 = beside ? static_cast<double>(i) * (wide + 30) : 0;
    const double y0 = beside ? 0 : step * static_cast<double>(i);
    // The second's y axis writes its name at the left of its own box.
    Box box{x0 + left, y0 + top, x0 + wide - 12, y0 + top + tall};
    draw_trade(svg, trades[i], box, errors);
  }
  return svg.str();
}

std::vector<Trade> trades_of(const CompareRun& run) {
  Trade size{"bytes of the compared matrices", false, {}};
  Trade time{"time of a token", true, {}};
  for (const CompareFile& file : run.files) {
    if (file.is_reference || !file.output_error || !(*file.output_error > 0)) continue;
    const std::string name = short_name(file.file);
    std::string hover = fmt::format("{}: {}, {} bits a weight, error of outputs {}", file.file, bytes_text(file.bytes),
                                    figure(file.bits), percent_text(*file.output_error));
    if (!file.us.empty())
      hover += fmt::format(", {} for {} token", us_text(file.us[0].second), count(file.us[0].first));
    if (file.bytes > 0) size.choices.push_back({name, file.bytes, *file.output_error, hover});
    if (!file.us.empty()) time.choices.push_back({name, file.us[0].second, *file.output_error, hover});
  }
  std::vector<Trade> trades;
  for (Trade& trade : {std::ref(size), std::ref(time)}) {
    if (!trade.choices.empty()) trades.push_back(std::move(trade));
  }
  return trades;
}

}  // namespace

std::optional<Figure> pareto(const CompareRun& run, const std::string& id) {
  const std::vector<Trade> trades = trades_of(run);
  if (trades.empty()) return std::nullopt;
  Figure made;
  made.id = id + "-pareto";
  made.title = "Which quantisation: size and time against error";
  made.about = fmt::format(
      "The error of outputs is the relative RMS of y against float64 over the weights of {}, each matrix by the number "
      "of "
      "its weights{}. Hollow marks: another file is at least as good in both.",
      run.files.empty() || !run.files[0].is_reference ? "the reference" : short_name(run.files[0].file),
      run.x.empty() ? "" : "; x: " + run.x);
  made.draw = [trades](const Canvas& canvas) {
    return draw_trades(trades, canvas, "Which quantisation: size and time against error");
  };
  made.table.heads = {"file", "format", "bytes", "bits a weight", "error of weights", "error of outputs"};
  made.table.words = 2;
  std::vector<double> windows;
  for (const CompareFile& file : run.files) {
    for (const auto& [tokens, us] : file.us) {
      if (std::ranges::find(windows, tokens) == windows.end()) windows.push_back(tokens);
    }
  }
  for (const double tokens : windows) {
    made.table.heads.push_back(tokens_text(tokens));
  }
  for (const CompareFile& file : run.files) {
    const auto percent = [](const std::optional<double>& part) {
      return part ? percent_text(*part) : std::string("-");
    };
    std::vector<std::string> row{file.file + (file.is_reference ? " (reference)" : ""),
                                 file.format,
                                 bytes_text(file.bytes),
                                 figure(file.bits),
                                 percent(file.weight_error),
                                 percent(file.output_error)};
    for (const double tokens : windows) {
      const auto found = std::ranges::find(file.us, tokens, [](const auto& each) { return each.first; });
      row.push_back(found == file.us.end() ? "-" : us_text(found->second));
    }
    made.table.rows.push_back(std::move(row));
  }
  return made;
}

std::optional<Figure> tensor_errors(const CompareRun& run, const std::string& id) {
  Strips strips;
  std::vector<double> values;
  Figure made;
  std::size_t series = 0;
  for (const CompareFile& file : run.files) {
    if (file.is_reference) continue;
    std::map<std::string, std::vector<const CompareMatrix*>> kinds;
    std::vector<std::string> order;
    for (const CompareMatrix& matrix : file.matrices) {
      if (!matrix.output_error || !(*matrix.output_error > 0)) continue;
      const std::string kind = kind_of_name(matrix.name);
      if (!kinds.contains(kind)) order.push_back(kind);
      kinds[kind].push_back(&matrix);
    }
    for (const std::string& kind : order) {
      std::vector<double> errors;
      const CompareMatrix* worst = nullptr;
      for (const CompareMatrix* matrix : kinds[kind]) {
        errors.push_back(*matrix->output_error);
        if (worst == nullptr || *matrix->output_error > *worst->output_error) worst = matrix;
      }
      const double least = *std::ranges::min_element(errors);
      const double median = median_of(errors);
      values.push_back(least);
      values.push_back(*worst->output_error);
      auto row = std::ranges::find(strips.rows, kind, &StripRow::name);
      if (row == strips.rows.end()) row = strips.rows.insert(strips.rows.end(), {kind, {}});
      row->marks.push_back({median, series_class(series), static_cast<unsigned>(series),
                            fmt::format("{} in {}: median {} of {}, worst {} in {} ({})", kind, short_name(file.file),
                                        percent_text(median), errors.size(), percent_text(*worst->output_error),
                                        worst->name, worst->format),
                            std::pair{least, *worst->output_error}});
      made.table.rows.push_back({kind, short_name(file.file), worst->format, std::to_string(errors.size()),
                                 percent_text(least), percent_text(median), percent_text(*worst->output_error),
                                 worst->name});
    }
    strips.legend.push_back({short_name(file.file), series_class(series), series_shape(series), false});
    ++series;
  }
  if (strips.rows.empty()) return std::nullopt;
  strips.title = "Where the error is";
  strips.about =
      "A row a kind of tensor, a mark a file: the median error of outputs over its layers; the line spans them.";
  strips.range = Range::logarithmic(values).grown(0.05, true);
  strips.axis = {"error of outputs", percent_text, true};
  made.id = id + "-tensors";
  made.title = strips.title;
  made.about =
      "The error of outputs of each kind of tensor: a mark is the median over its layers, the line behind it spans "
      "them from "
      "the best to the worst.";
  made.draw = [strips](const Canvas& canvas) { return draw_strips(strips, canvas); };
  made.table.heads = {"tensors", "file", "format of the worst", "matrices", "least", "median", "worst", "in"};
  made.table.words = 3;
  return made;
}

}  // namespace lanewise::program::report
