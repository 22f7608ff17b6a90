// lab tiles, cat and split: a few named ways to compute the same product, in paired rounds.

#include <charconv>

#include <fmt/format.h>

#include "gguf/escape.h"
#include "json.h"
#include "lab.h"
#include "selection.h"
#include "tune/tile.h"
#include "tune_report.h"
#include "tune_run.h"

namespace lanewise::program {
namespace {

Result<std::uint64_t> whole_number(const std::string& what, const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec == std::errc{} && read.ptr == end && value != 0) return value;
  return make_error(LW_ERROR_ARGUMENT,
                    fmt::format("{} is a whole number from 1 on, not '{}'", what, gguf::escape_for_terminal(text, 40)));
}

// What all three begin with.
struct LabBench {
  std::unique_ptr<TuneDevice> device;
  Format format = Format::Q4_K;
  std::uint64_t cols = 0;
  Planes planes = Planes::x16;
  Layout layout = Layout::raw;

  [[nodiscard]] Problem problem(std::uint64_t rows, std::uint64_t tokens) const {
    return {format, rows, cols, tokens, planes, layout};
  }
  [[nodiscard]] MatrixWish wish(std::uint64_t rows, std::uint64_t seed = 1) const {
    return {format, rows, cols, layout, seed};
  }
};

// The first two words, TYPE and K.
Result<LabBench> open_bench(const LabOptions& options) {
  LabBench bench;
  LW_ASSIGN(format, parse_format(options.words[0]));
  bench.format = format;
  LW_ASSIGN(cols, whole_number("K", options.words[1]));
  bench.cols = cols;
  LW_ASSIGN(planes, parse_planes(options.activation));
  bench.planes = planes;
  LW_ASSIGN(device, open_tune_device(options.device, options.measuring));
  bench.device = std::move(device);
  const FormatInfo& info = format_info(bench.format);
  bench.layout = bench.device->usual_layout(info);
  if (!options.layout.empty()) {
    LW_ASSIGN(layout, parse_layout(options.layout));
    bench.layout = layout;
    if (!has_layout(layout, info)) {
      return make_error(LW_ERROR_ARGUMENT, fmt::format("{} has no layout {}", info.name, layout_name(layout)));
    }
  }
  return bench;
}

Outcome check_shape(const LabBench& bench, std::uint64_t rows, std::uint64_t tokens) {
  Case problem;
  problem.format = bench.format;
  problem.rows = rows;
  problem.cols = bench.cols;
  problem.tokens = tokens;
  return check_case(problem);
}

tune::SearchOptions search_options(const LabOptions& options, const TuneDevice& device, Progress& progress,
                                   const std::string& what) {
  tune::SearchOptions made;
  made.rounds = options.rounds;
  made.runs = options.runs;
  made.hot = false;
  made.limits = device.limits();
  made.now = seconds_now;
  made.stop = [] { return stop_asked.load(); };
  made.progress = [&progress, what](double part) { progress.show(static_cast<std::uint64_t>(part * 100), 100, what); };
  return made;
}

// What was measured, by the names of the ways.
struct LabResult {
  std::string what;  ///< "q4_K 4096x14336, tokens 1"
  std::vector<std::string> names;
  tune::SearchResult result;
  std::string beside;  ///< empty: nothing
};

Json ways_json(const LabResult& measured) {
  Json list = Json::array();
  for (std::size_t i = 0; i < measured.names.size(); ++i) {
    const tune::CandidateResult& each = measured.result.candidates[i];
    const bool is_first = i == 0;
    list.push_back({{"tile", measured.names[i]},
                    {"ratio", is_first     ? Json(1.0)
                              : each.ratio ? Json(*each.ratio)
                                           : Json(nullptr)},
                    {"ratio_low", is_first     ? Json(1.0)
                                  : each.ratio ? Json(each.low)
                                               : Json(nullptr)},
                    {"ratio_high", is_first     ? Json(1.0)
                                   : each.ratio ? Json(each.high)
                                                : Json(nullptr)},
                    {"us", is_first     ? Json(measured.result.default_us)
                           : each.ratio ? Json(each.us)
                                        : Json(nullptr)},
                    {"rounds", is_first ? measured.result.rounds : each.rounds},
                    {"status", is_first && measured.result.chosen != 0 ? "beaten" : tune::status_words(each.status)},
                    {"why", each.why}});
  }
  return list;
}

Exit report(Context& context, const LabOptions& options, const LabBench& bench, const LabResult& measured) {
  const tune::SearchResult& r = measured.result;
  if (!context.quiet && options.json != "-") {
    context.out.print("{}\n{}{}, cold, {} rounds counted, {} rejected; the control {:.4f} to {:.4f}\n\n",
                      bench.device->about(), measured.what,
                      measured.beside.empty() ? "" : ", each in a call with " + measured.beside, r.rounds,
                      r.rejected_control + r.rejected_clock, r.control_low, r.control_high);
    context.out.print("{:<36}{:>10}{:>9}{:>18}\n", "", "us", "ratio", "lowest, highest");
    for (std::size_t i = 0; i < measured.names.size(); ++i) {
      const tune::CandidateResult& each = r.candidates[i];
      if (each.status == tune::Status::failed) {
        context.out.print("{:<36} failed: {}\n", measured.names[i], gguf::escape_for_terminal(each.why, 200));
      } else if (i == 0) {
        context.out.print("{:<36}{:>10.2f}{:>9}{:>18}\n", measured.names[i], r.default_us, "1", "");
      } else if (each.ratio) {
        context.out.print("{:<36}{:>10.2f}{:>9.4f}{:>9.4f}{:>9.4f}{}\n", measured.names[i], each.us, *each.ratio,
                          each.low, each.high, r.chosen == i ? "  a clear win" : "");
      }
    }
    context.out.print("\n{} outputs compared with the scalar kernel's\n", grouped(r.verified));
  }
  if (!options.json.empty()) {
    Json json{{"library_version", lw_version()},
              {"arithmetic_version", lw_arithmetic_version()},
              {"kind", "lab " + options.action},
              {"device", options.device.device},
              {"fingerprint", to_json(bench.device->fingerprint())},
              {"what", measured.what},
              {"beside", measured.beside.empty() ? Json(nullptr) : Json(measured.beside)},
              {"tiles", ways_json(measured)},
              {"rounds", r.rounds},
              {"rejected", Json{{"control", r.rejected_control}, {"clock", r.rejected_clock}}},
              {"control", Json{{"median", r.control_median},
                               {"low", r.control_low},
                               {"high", r.control_high},
                               {"bound", r.control_bound}}},
              {"verified_values", r.verified}};
    Exit written = write_json(context, options.json, json);
    if (written.fault() != nullptr) return written;
  }
  for (const tune::CandidateResult& each : r.candidates) {
    if (each.differs) return Fault{make_error(LW_ERROR_INTERNAL, each.why), exit_wrong};
  }
  if (stop_asked) return interrupted();
  if (r.is_complete) return exit_ok;
  return Exit(make_error(LW_ERROR_UNSUPPORTED, r.why_not));
}

std::string problem_text(const LabBench& bench, std::uint64_t rows, std::uint64_t tokens) {
  return fmt::format("{} {}x{}, {}", format_info(bench.format).name, bench.cols, rows,
                     tokens == 1 ? std::string("one token") : fmt::format("{} tokens", tokens));
}

// The tiles of one matrix.
Exit measure_tiles(Context& context, const LabOptions& options, const LabBench& bench, std::uint64_t rows,
                   std::uint64_t tokens, const std::vector<tune::Candidate>& tiles,
                   const std::optional<BesideWish>& beside) {
  LW_TRY(check_json(options.json));
  std::vector<MatrixWish> wishes{bench.wish(rows)};
  // Room for both together.
  if (beside) wishes.push_back(MatrixWish{beside->format, beside->rows, bench.cols, bench.layout, 2});
  LW_TRY(bench.device->choose_memory(wishes));
  Progress progress(context.quiet);
  LabResult measured;
  measured.what = problem_text(bench, rows, tokens);
  if (beside) {
    measured.beside = fmt::format("{} {}x{}", format_info(beside->format).name, bench.cols, beside->rows);
  }
  for (const tune::Candidate& each : tiles) measured.names.push_back(each.text());
  LW_ASSIGN(matrix, bench.device->matrix(wishes[0], bench.planes, beside));
  LW_ASSIGN(subject, matrix->window(tokens, tiles));
  LW_ASSIGN(result,
            tune::compare_all(*subject, tiles.size(), search_options(options, *bench.device, progress, measured.what)));
  progress.clear();
  measured.result = std::move(result);
  Exit exit = report(context, options, bench, measured);
  print_warnings(bench.device->machine().gpu);
  return exit;
}

Result<tune::Candidate> named(const LabBench& bench, const Problem& problem, const std::string& word) {
  const tune::Machine machine = bench.device->machine();
  if (word == "default") {
    LW_ASSIGN(plan, select(problem, machine.backend, machine.capabilities));
    return tune::Candidate{plan.kernel, {}, 0};
  }
  LW_ASSIGN(tile, tune::parse_tile(word));
  LW_ASSIGN(kernel, tune::kernel_called(tile.kernel, bench.format, bench.layout, machine.backend, machine.capabilities,
                                        machine.gpu));
  LW_TRY(tune::check_setting(*kernel, tile.setting, machine.gpu));
  return tune::Candidate{kernel, tile.setting, 0};
}

// TYPE,ROWS.
Result<BesideWish> parse_beside(const std::string& text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) return make_error(LW_ERROR_ARGUMENT, "--beside takes TYPE,ROWS");
  LW_ASSIGN(format, parse_format(text.substr(0, comma)));
  LW_ASSIGN(rows, whole_number("ROWS of --beside", text.substr(comma + 1)));
  return BesideWish{format, rows};
}

}  // namespace

Exit lab_tiles(Context& context, const LabOptions& options) {
  if (options.words.size() < 5) return bad_usage("lab tiles takes TYPE K ROWS TOKENS TILE...");
  LW_ASSIGN(bench, open_bench(options));
  LW_ASSIGN(rows, whole_number("ROWS", options.words[2]));
  LW_ASSIGN(tokens, whole_number("TOKENS", options.words[3]));
  LW_TRY(check_shape(bench, rows, tokens));
  std::vector<std::string> words(options.words.begin() + 4, options.words.end());
  // One alone is held against the default.
  if (words.size() == 1 && words[0] != "default") words.insert(words.begin(), "default");
  std::vector<tune::Candidate> tiles;
  for (const std::string& word : words) {
    auto tile = named(bench, bench.problem(rows, tokens), word);
    if (!tile) return no_kernel(std::move(tile).error());
    tiles.push_back(*tile);
  }
  std::optional<BesideWish> beside;
  if (!options.beside.empty()) {
    LW_ASSIGN(wish, parse_beside(options.beside));
    Case problem;
    problem.format = wish.format;
    problem.rows = wish.rows;
    problem.cols = bench.cols;
    LW_TRY(check_case(problem));
    beside = wish;
  }
  return measure_tiles(context, options, bench, rows, tokens, tiles, beside);
}

Exit lab_split(Context& context, const LabOptions& options) {
  if (options.words.size() != 4) return bad_usage("lab split takes TYPE K ROWS TOKENS");
  LW_ASSIGN(bench, open_bench(options));
  LW_ASSIGN(rows, whole_number("ROWS", options.words[2]));
  LW_ASSIGN(tokens, whole_number("TOKENS", options.words[3]));
  LW_TRY(check_shape(bench, rows, tokens));
  LW_ASSIGN(usual, named(bench, bench.problem(rows, tokens), "default"));
  const tune::Machine machine = bench.device->machine();
  std::vector<tune::Candidate> tiles{usual};
  if (machine.gpu != nullptr) {
    const std::span<const gpu::TilingAxis> axes = machine.gpu->tiling_axes(*usual.kernel);
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      if (axes[axis].name != "splits") continue;
      for (const std::uint32_t value : axes[axis].values) {
        tune::Candidate tile{usual.kernel, {}, 0};
        tile.setting.tiling[axis] = value;
        tiles.push_back(tile);
      }
    }
  }
  if (tiles.size() == 1) {
    return not_here(
        make_error(LW_ERROR_UNSUPPORTED,
                   fmt::format("kernel '{}' of {} has no parts of K to choose: its eighths are the arithmetic's own",
                               usual.kernel->name, machine.backend)));
  }
  return measure_tiles(context, options, bench, rows, tokens, tiles, std::nullopt);
}

Exit lab_cat(Context& context, const LabOptions& options) {
  if (options.words.size() < 5) return bad_usage("lab cat takes TYPE K TOKENS ROWS ROWS...");
  LW_ASSIGN(bench, open_bench(options));
  LW_ASSIGN(tokens, whole_number("TOKENS", options.words[2]));
  std::vector<MatrixWish> wishes;
  std::uint64_t all_rows = 0;
  std::string listed;
  for (std::size_t i = 3; i < options.words.size(); ++i) {
    LW_ASSIGN(rows, whole_number("ROWS", options.words[i]));
    LW_TRY(check_shape(bench, rows, tokens));
    wishes.push_back(bench.wish(rows, wishes.size() + 1));
    all_rows += rows;
    listed.append(listed.empty() ? "" : "+").append(std::to_string(rows));
  }
  LW_TRY(check_shape(bench, all_rows, tokens));
  if (wishes.size() > gpu::most_targets) {
    return bad_usage(fmt::format("at most {} matrices are computed together", gpu::most_targets));
  }
  LW_TRY(check_json(options.json));
  LW_TRY(bench.device->choose_memory({bench.wish(all_rows)}));
  Progress progress(context.quiet);
  LabResult measured;
  measured.what = fmt::format("{} {}x{}, {}", format_info(bench.format).name, bench.cols, listed,
                              tokens == 1 ? std::string("one token") : fmt::format("{} tokens", tokens));
  measured.names = {"a launch each", "one launch for all"};
  LW_ASSIGN(subject, bench.device->together(wishes, bench.planes, tokens));
  LW_ASSIGN(result, tune::compare_all(*subject, 2, search_options(options, *bench.device, progress, measured.what)));
  progress.clear();
  measured.result = std::move(result);
  Exit exit = report(context, options, bench, measured);
  print_warnings(bench.device->machine().gpu);
  return exit;
}

}  // namespace lanewise::program
