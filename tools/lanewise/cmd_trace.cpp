// trace: one output, stage by stage, by the scalar kernel and by the oracle.

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "backends/cpu/cpu.h"
#include "base/checked.h"
#include "command.h"
#include "device.h"
#include "harness/case.h"
#include "harness/compare.h"
#include "harness/stages.h"
#include "json.h"
#include "layout/layout.h"
#include "model.h"
#include "options.h"

namespace lanewise::program {
namespace {

struct TraceOptions {
  std::string problem;
  std::string model;
  std::uint64_t row = 0;
  std::uint64_t token = 0;
  std::string json;
  DeviceOptions device;
};

std::string float_text(float value) {
  return fmt::format("{:.9g} (0x{:08X})", value, std::bit_cast<std::uint32_t>(value));
}

// The problem with its data, and its two traces.
struct Subject {
  Case problem;
  std::optional<gguf::Model> model;
  std::vector<std::uint8_t> weights;  // of a synthetic problem, up to the row
  MatrixView w;
  std::string kernel;
  std::string why;
  float kernel_y = 0;  // of the kernel that the problem or select() names
  Trace scalar;
  oracle::Trace reference;
};

Outcome load_weights(const TraceOptions& options, Subject& subject) {
  Case& problem = subject.problem;
  if (!problem.tensor.empty()) {
    if (options.model.empty()) {
      return make_error(LW_ERROR_ARGUMENT, "the problem names a tensor: give its file with --model");
    }
    LW_ASSIGN(model, open_model(options.model));
    subject.model.emplace(std::move(model));
    LW_ASSIGN(view, find_matrix(*subject.model, problem.tensor));
    if (view.format != problem.format || view.rows != problem.rows || view.cols != problem.cols) {
      return make_error(
          LW_ERROR_ARGUMENT,
          fmt::format("the problem says {}:{}x{}, and '{}' is {}:{}x{}", format_info(problem.format).name, problem.cols,
                      problem.rows, printable(problem.tensor), view.info().name, view.cols, view.rows));
    }
    subject.w = view;
  } else {
    if (!options.model.empty()) {
      return make_error(LW_ERROR_ARGUMENT, "--model goes with a problem that names a tensor (tensor=NAME)");
    }
    const std::uint64_t rows = options.row + 1;  // row < problem.rows: what lies after it doesn't take part
    const auto bytes = checked_mul(rows, row_bytes(format_info(problem.format), problem.cols));
    if (!bytes || *bytes > PTRDIFF_MAX) return make_error(LW_ERROR_MEMORY, "the matrix doesn't fit the memory");
    subject.weights.resize(*bytes);
    constexpr std::uint64_t chunk_elements = std::uint64_t{1} << 18U;
    const std::uint64_t chunk = std::max<std::uint64_t>(1, chunk_elements / problem.cols);
    for (std::uint64_t begin = 0; begin < rows && !stop_asked; begin += std::min(chunk, rows - begin)) {
      fill_weights(problem.format, problem.cols, problem.fill, problem.seed, begin,
                   begin + std::min(chunk, rows - begin), subject.weights.data());
    }
    subject.w = {problem.format, rows, problem.cols, subject.weights.data()};
  }
  return Done{};
}

oracle::Input oracle_input(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
      return oracle::Input::fp16;
    case Dtype::bf16:
      return oracle::Input::bf16;
    case Dtype::f32:
      break;
  }
  return oracle::Input::fp32;
}

Outcome compute(const TraceOptions& options, Subject& subject) {
  const Case& problem = subject.problem;
  const std::uint64_t tokens = options.token + 1;
  const auto elements = checked_mul(tokens, problem.cols);
  const auto bytes = elements ? checked_mul(*elements, dtype_bytes(problem.input)) : std::nullopt;
  if (!bytes || *bytes > PTRDIFF_MAX) return make_error(LW_ERROR_MEMORY, "x doesn't fit the memory");
  std::vector<std::uint32_t> x(ceil_div(*bytes, sizeof(std::uint32_t)));
  fill_x(problem.format, tokens, problem.cols, problem.fill, problem.seed, problem.input, x.data());

  LW_ASSIGN(activation, Activation::create(problem.planes, tokens, problem.cols));
  LW_TRY(activation->set({x.data(), problem.input, tokens, problem.cols, problem.cols}));
  const std::string& kernel = options.device.kernel.empty() ? problem.kernel : options.device.kernel;
  LW_ASSIGN(plan, select({problem.format, problem.rows, problem.cols, problem.tokens, problem.planes, problem.layout},
                         options.device.device, cpu_capabilities(), kernel));
  subject.kernel = plan.name;
  subject.why = plan.why;
  // The kernel's own reading of W: in the problem's layout, with a fence at its end as in verify.
  MatrixView laid_out = subject.w;
  Fenced packed;
  if (problem.layout != Layout::raw) {
    LW_ASSIGN(memory, Fenced::create(packed_bytes(problem.layout, subject.w), Fence::page));
    packed = std::move(memory);
    const std::uint64_t units = pack_units(problem.layout, subject.w.rows);
    pack_matrix(problem.layout, subject.w, 0, units, packed.data());
    laid_out.data = packed.data();
  }
  std::vector<float> y(tokens * subject.w.rows);
  plan.kernel->launch(laid_out, *activation, {y.data(), Dtype::f32, subject.w.rows}, options.row, options.row + 1);
  subject.kernel_y = y[options.token * subject.w.rows + options.row];
  subject.scalar = trace_scalar(subject.w, *activation, options.row, options.token);

  const oracle::Activation image =
      oracle::activate(x.data(), oracle_input(problem.input), static_cast<std::int64_t>(tokens),
                       static_cast<std::int64_t>(problem.cols), static_cast<int>(plane_count(problem.planes)));
  subject.reference =
      oracle::trace(static_cast<int>(subject.w.info().id), subject.w.row(options.row),
                    static_cast<std::int64_t>(problem.cols), image, static_cast<std::int64_t>(options.token));
  return Done{};
}

void print_activation(Output& out, const Subject& subject) {
  const Trace& trace = subject.scalar;
  constexpr std::uint64_t per_line = 16;
  const bool is_float = subject.w.info().is_float();
  out.print("\nx as the kernel reads it: {}\n", is_float ? "xq (floats)" : "q (integers) and e");
  for (std::uint64_t k = 0; k < subject.w.cols; k += per_line) {
    if (k % super_block == 0) {
      const int e = is_float ? subject.reference.e[k / super_block] : trace.exponents[k / super_block];
      out.print("super-block {}: e = {}\n", k / super_block, e);
    }
    out.print("  k {:>6}:", k);
    for (std::uint64_t i = k; i < std::min(k + per_line, subject.w.cols); ++i) {
      if (is_float) {
        out.print(" {:.9g}", trace.xq[i]);
      } else {
        out.print(" {:>6}", trace.q[i]);
      }
    }
    out.text("\n");
  }
}

void print_steps(Output& out, const Subject& subject) {
  const FormatInfo& info = subject.w.info();
  const std::uint32_t planes = info.is_float() ? 0 : plane_count(subject.problem.planes);
  out.text(info.is_float() ? "\nsteps: a[g][v] += w * xq\n"
                           : "\nsteps: a[g][v] += (d * F(J)) * 2^e, and m, M of the mins; planes lowest first\n");
  for (const TraceStep& step : subject.scalar.steps) {
    out.print("  k {:>6} a[{}][{:>2}]", step.k, step.g, step.v);
    if (planes != 0) {
      out.print(" {} =", step.is_min ? 'M' : 'J');
      for (std::uint32_t p = 0; p < planes; ++p) out.print(" {}", step.sums[p]);
      out.print(", F = {:.9g}, {} = {}", step.value, step.is_min ? 'm' : 'd', float_text(step.scale));
    } else {
      out.print(" w = {}, xq = {}", float_text(step.scale), float_text(step.value));
    }
    out.print(", term = {}, a = {}\n", float_text(step.term), float_text(step.accumulator));
  }
  out.text("\n");
  for (std::size_t g = 0; g < eighths; ++g) out.print("r[{}] = {}\n", g, float_text(subject.scalar.eighth_sums[g]));
}

Json to_json(const Subject& subject, const TraceOptions& options, const StageDifference& difference) {
  const auto bits = [](float value) { return fmt::format("0x{:08X}", std::bit_cast<std::uint32_t>(value)); };
  const Trace& trace = subject.scalar;
  Json out;
  out["problem"] = to_string(subject.problem);
  out["kernel"] = subject.kernel;
  out["row"] = options.row;
  out["token"] = options.token;
  out["poisoned"] = trace.poisoned;
  out["e"] = trace.poisoned ? Json::array() : Json(subject.reference.e);
  out["q"] = trace.q;
  out["xq"] = Json::array();
  for (const float value : trace.xq) out["xq"].push_back(bits(value));
  out["steps"] = Json::array();
  for (const TraceStep& step : trace.steps) {
    out["steps"].push_back({{"k", step.k},
                            {"g", step.g},
                            {"v", step.v},
                            {"min", step.is_min},
                            {"sums", step.sums},
                            {"value", bits(step.value)},
                            {"scale", bits(step.scale)},
                            {"term", bits(step.term)},
                            {"accumulator", bits(step.accumulator)}});
  }
  for (const float value : trace.eighth_sums) out["r"].push_back(bits(value));
  out["y"] = {{"kernel", bits(subject.kernel_y)}, {"scalar", bits(trace.y)}, {"oracle", bits(subject.reference.y)}};
  out["first_difference"] = nullptr;
  if (difference.found()) {
    out["first_difference"] = {{"stage", stage_name(difference.stage)},
                               {"k", difference.k},
                               {"g", difference.g},
                               {"v", difference.v},
                               {"got", difference.ours},
                               {"expected", difference.theirs}};
  }
  return out;
}

Exit trace(Context& context, const TraceOptions& options) {
  if (auto fault = check_device(options.device, Computes::on_the_cpu)) return *fault;
  Subject subject;
  LW_ASSIGN(problem, parse_case(options.problem));
  if (problem.says_how_to_launch()) {
    return make_error(LW_ERROR_ARGUMENT,
                      "trace computes an output on the CPU: leave tile, overlapped, group, experts and apart out");
  }
  subject.problem = problem;
  if (options.row >= problem.rows || options.token >= problem.tokens) {
    return bad_usage(fmt::format("row {}, token {}: the problem has rows 0 to {} and tokens 0 to {}", options.row,
                                 options.token, problem.rows - 1, problem.tokens - 1));
  }
  LW_TRY(load_weights(options, subject));
  if (stop_asked) return interrupted();
  LW_TRY(check_json(options.json));
  if (Outcome computed = compute(options, subject); !computed) return no_kernel(std::move(computed).error());
  StageDifference difference = compare_traces(subject.scalar, subject.reference, subject.w.format);
  if (!difference.found() &&
      std::bit_cast<std::uint32_t>(subject.kernel_y) != std::bit_cast<std::uint32_t>(subject.scalar.y)) {
    difference.stage = Stage::y;
    difference.ours = float_text(subject.kernel_y);
    difference.theirs = float_text(subject.scalar.y);
  }

  if (!options.json.empty()) {
    Exit written = write_json(context, options.json, to_json(subject, options, difference));
    if (written.fault() != nullptr) return written;
  }
  if (options.json != "-") {
    Output& out = context.out;
    out.print("problem {}\nkernel  {} ({})\nrow {}, token {}\n", printable(to_string(problem)), subject.kernel,
              subject.why, options.row, options.token);
    if (subject.scalar.poisoned) {
      out.text("the token holds a NaN, an infinity or an |x| of 2^64 or more: y is NaN in every row\n");
    } else if (!context.quiet) {
      print_activation(out, subject);
      print_steps(out, subject);
    }
    out.print("y = {}; by the kernel {}, by the oracle {}\n", float_text(subject.scalar.y),
              float_text(subject.kernel_y), float_text(subject.reference.y));
    if (!difference.found()) {
      out.print("no stage differs: {} steps, kernel and oracle agree in every bit\n", subject.scalar.steps.size());
    }
  }
  if (!difference.found()) return exit_ok;
  return Fault{make_error(LW_ERROR_INTERNAL, "first difference: " + to_string(difference)), exit_wrong};
}

Job setup_trace(Arguments& arguments) {
  auto options = std::make_shared<TraceOptions>();
  arguments.option("problem", &options->problem, "A problem string, as verify prints them")
      .required()
      .type_name("PROBLEM");
  arguments.option("--model", &options->model, "The file, for a problem with tensor=NAME").type_name("FILE");
  arguments.number("--row", &options->row, 0, UINT64_MAX, "Row of W, from 0").required().type_name("R");
  arguments.number("--token", &options->token, 0, UINT64_MAX, "Token of x, from 0").required().type_name("T");
  options->device.declare_device(arguments);
  options->device.declare_kernel(arguments);
  declare_json(arguments, &options->json);
  return [options](Context& context) { return trace(context, *options); };
}

}  // namespace

const Command trace_command{
    "trace", "Show every step of one output and the first that differs",
    "  lanewise trace 'gemv:q4_K:512x3:tokens=2:act=x16:seed=7' --row 2 --token 1\n"
    "  lanewise trace 'gemv:q8_0:640x256:tensor=blk.0.attn_k.weight' --model model.gguf --row 0 --token 0\n"
    "Shown: q and e of x, then for each addition J (or M) by plane, F, d (or m), the term and the accumulator. With\n"
    "--quiet only the result.",
    setup_trace};

}  // namespace lanewise::program
