// verify: every product against independent references, bit for bit.

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <numeric>

#include "backends/cpu/cpu.h"
#include "command.h"
#include "device.h"
#include "harness/sweep.h"
#include "harness/verify.h"
#include "model.h"
#include "options.h"
#include "selection.h"
#include "verify_report.h"

namespace lanewise::program {
namespace {

struct VerifyCommandOptions {
  std::vector<std::string> what;  // at most one model; problem strings
  std::vector<std::string> formats;
  std::string tensor;
  std::vector<std::uint64_t> tokens{1, 2, 4, 8};
  std::vector<std::string> activations;
  std::string layout;  ///< empty: raw; on a GPU every layout that it has
  std::string fill = "gauss";
  std::uint64_t seed = 1;
  std::string json;
  bool keep_going = false;
  bool strict = false;
  DeviceOptions device;
  std::vector<Argument> said_by_problems;  ///< what a problem string says itself
  std::vector<Argument> of_models;         ///< what has no meaning without one
};

// The options, read.
struct Plan {
  std::string model;
  std::vector<Case> problems;
  std::vector<Format> formats;
  std::vector<Planes> planes;
  std::vector<Layout> layouts;
  Fill fill = Fill::gauss;
  std::shared_ptr<gpu::Device> gpu;  ///< null: the CPU
};

constexpr std::string_view problem_prefix = "gemv:";
// How often a synthetic case that its random numbers left mistrusted is drawn again, and how far its seed then moves:
// past those of all other cases.
constexpr int most_redraws = 3;
constexpr std::uint64_t redraw_step = 1'000'003;

// An option that would be ignored is refused.
Outcome refuse(const std::vector<Argument>& options, const char* why) {
  const std::string name = first_given(options);
  if (name.empty()) return Done{};
  return make_error(LW_ERROR_ARGUMENT, fmt::format("{}: leave {} out", why, name));
}

Outcome check_what(const VerifyCommandOptions& options, const Plan& plan) {
  if (plan.model.empty()) LW_TRY(refuse(options.of_models, "there is no model to choose from"));
  if (plan.problems.empty()) return Done{};
  LW_TRY(refuse(options.said_by_problems, "a problem says by itself what it is"));
  const bool any = std::ranges::any_of(plan.problems, [](const Case& each) { return !each.tensor.empty(); });
  if (!plan.model.empty() && !any) {
    return make_error(
        LW_ERROR_ARGUMENT,
        fmt::format("no problem names a tensor of '{}' (tensor=NAME): leave the model out", printable(plan.model)));
  }
  return Done{};
}

Result<Plan> read_options(const VerifyCommandOptions& options) {
  Plan plan;
  for (const std::string& text : options.what) {
    if (std::string_view(text).starts_with(problem_prefix)) {
      LW_ASSIGN(problem, parse_case(text));
      if (!options.device.kernel.empty()) problem.kernel = options.device.kernel;
      plan.problems.push_back(problem);
    } else if (plan.model.empty()) {
      plan.model = text;
    } else {
      return make_error(LW_ERROR_ARGUMENT,
                        fmt::format("'{}' and '{}' would be two models: give one, and problems that start with gemv:",
                                    printable(plan.model), printable(text)));
    }
  }
  for (const Case& problem : plan.problems) {
    if (!problem.tensor.empty() && plan.model.empty()) {
      return make_error(LW_ERROR_ARGUMENT, "the problem names a tensor: give the model file too, before it");
    }
  }
  LW_TRY(check_what(options, plan));
  LW_ASSIGN(formats, parse_formats(options.formats));
  plan.formats = formats;
  LW_ASSIGN(planes, parse_planes_list(options.activations));
  plan.planes = planes;
  LW_ASSIGN(opened, open_gpu(options.device.device));
  plan.gpu = std::move(opened);
  LW_ASSIGN(layout, parse_layout(options.layout.empty() ? "raw" : options.layout));
  plan.layouts = {layout};
  if (options.layout.empty() && plan.gpu != nullptr) plan.layouts.push_back(plan.gpu->preferred_layout());
  auto fill = parse_fill(options.fill);
  if (!fill) return make_error(LW_ERROR_ARGUMENT, fill.error().message);
  plan.fill = *fill;
  return plan;
}

class Verifier {
 public:
  Verifier(Context& context, const VerifyCommandOptions& options, const Plan& plan)
      : options_(options),
        plan_(plan),
        progress_(context.quiet),
        report_(context.out, !context.quiet && options.json != "-", !options.json.empty()),
        context_(context) {
    verify_.threads = thread_count(options.device);
    verify_.cancel = &stop_asked;
    verify_.gpu = plan.gpu;
    verify_.progress = [this](std::uint64_t done, std::uint64_t total) {
      progress_.show(done, total, fmt::format("rows, {}", current_));
    };
  }

  Exit run() {
    LW_ASSIGN(pattern, NamePattern::compile(options_.tensor));
    const auto start = std::chrono::steady_clock::now();
    std::optional<gguf::Model> model;
    if (!plan_.model.empty()) {
      LW_ASSIGN(opened, open_model(plan_.model));
      model.emplace(std::move(opened));
    }
    LW_TRY(check_json(options_.json));
    report_.head();
    if (!plan_.problems.empty()) {
      LW_TRY(problems(model ? &*model : nullptr));
    } else if (model) {
      walk(*model, pattern);
      if (report_.total().cases == 0 && !stop_asked) {
        return make_error(LW_ERROR_NOT_FOUND,
                          fmt::format("there is no matrix of weights in '{}'{}", printable(plan_.model),
                                      options_.tensor.empty() && options_.formats.empty() && left_out_.empty()
                                          ? ""
                                          : " that --tensor, --format and --kernel ask for"));
      }
    } else {
      synthetic();
    }
    progress_.clear();
    print_warnings(plan_.gpu.get());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return finish(took.count(), model.has_value() && plan_.problems.empty());
  }

 private:
  // False: stop.
  bool go_on() const {
    return !stop_asked && !context_.out.failed() && (options_.keep_going || !report_.first_failure());
  }

  // Of one matrix: its decoding is compared once, whatever the number of windows.
  void add(const std::string& format, const std::vector<Verdict>& verdicts) {
    bool first = true;
    for (const Verdict& verdict : verdicts) {
      if (!verdict.cancelled) report_.add(format, verdict, std::exchange(first, false));
    }
  }
  void row(const std::string& label, const std::string& format) {
    progress_.clear();
    report_.row(label, format);
    // Seen at once, also through a pipe; a failure is kept and ends the run.
    (void)context_.out.flush();
  }

  // The layouts that a format is verified in. Float formats are read raw in every layout; an error only where one was
  // asked for by name.
  std::vector<Layout> layouts_for(Format format) {
    const FormatInfo& info = format_info(format);
    std::vector<Layout> list;
    for (const Layout layout : plan_.layouts) {
      if (options_.layout.empty()) {
        if (plan_.gpu == nullptr || (has_layout(layout, info) && has_kernel(format, layout))) list.push_back(layout);
        continue;
      }
      if (has_layout(layout, info) || !plan_.formats.empty()) return {layout};
      if (std::ranges::count(raw_, format) == 0) {
        raw_.push_back(format);
        report_.note(fmt::format("{} is read raw: layout {} holds codes alone", info.name, layout_name(layout)));
      }
      return {Layout::raw};
    }
    if (list.empty()) list.push_back(Layout::raw);  // the error says what is missing
    return list;
  }
  // Whether the layout can be made here, and has the kernel asked for, if one is.
  bool has_kernel(Format format, Layout layout) const {
    if (plan_.gpu != nullptr && !plan_.gpu->has_layout(layout, format)) return false;
    const std::string backend = plan_.gpu == nullptr ? "cpu" : plan_.gpu->info().backend;
    const std::uint32_t capabilities = plan_.gpu == nullptr ? cpu_capabilities() : plan_.gpu->capabilities();
    // A full name holds one plane count.
    return std::ranges::any_of(std::array{Planes::x8, Planes::x16, Planes::x24}, [&](Planes planes) {
      const Problem problem{format, 1, 256, 1, planes, layout};
      return find_kernel(problem, backend, capabilities, options_.device.kernel) != nullptr;
    });
  }
  bool has_kernel(const FormatInfo& info) const {
    return std::ranges::any_of(plan_.layouts, [&](Layout layout) {
      return has_kernel(info.format, has_layout(layout, info) ? layout : Layout::raw);
    });
  }
  // A kernel is for a class of formats. Where no format was asked for by name, those that the kernel isn't for are left
  // out, with a line; where it is for none that are here, the error of the first says why.
  bool leaves_out(Format format) {
    if (options_.device.kernel.empty() || !plan_.formats.empty() || has_kernel(format_info(format))) return false;
    if (std::ranges::none_of(formats(), [&](const FormatInfo& info) { return has_kernel(info); })) return false;
    if (std::ranges::count(left_out_, format) == 0) {
      left_out_.push_back(format);
      progress_.clear();
      report_.note(fmt::format("{} is left out: there is no kernel '{}' for it", format_info(format).name,
                               printable(options_.device.kernel)));
    }
    return true;
  }
  // Chance can make most outputs of a small case zero, whatever the seed is chosen for: such a case is drawn again.
  static std::vector<Verdict> draw(std::vector<Case> runs, const VerifyOptions& options) {
    std::vector<Verdict> verdicts = verify_runs(runs, options);
    const auto is_mistrusted = [](const Verdict& verdict) { return verdict.kind() == VerdictKind::mistrusted; };
    for (int i = 0; i < most_redraws && std::ranges::any_of(verdicts, is_mistrusted); ++i) {
      // What else there is to say of one stays.
      const auto is_wrong = [&](const Verdict& verdict) { return !verdict.passed() && !is_mistrusted(verdict); };
      if (std::ranges::any_of(verdicts, is_wrong)) break;
      for (Case& run : runs) run.seed += redraw_step;
      verdicts = verify_runs(runs, options);
    }
    return verdicts;
  }

  void matrix(const std::string& name, const MatrixView& view) {
    current_ = name;
    const std::string format(view.info().name);
    for (const Layout layout : layouts_for(view.format)) {
      for (const Planes planes : plan_.planes.empty() ? std::vector{Planes::x16} : plan_.planes) {
        Case problem;
        problem.planes = planes;
        problem.layout = layout;
        problem.kernel = options_.device.kernel;
        problem.fill = plan_.fill;
        problem.seed = options_.seed;
        problem.tensor = name;
        add(format, verify_windows(view, problem, options_.tokens, verify_));
      }
    }
    if (!stop_asked) row(name, format);
  }

  void walk(const gguf::Model& model, const NamePattern& pattern) {
    for_each_matrix(model, [&](const std::string& name, const MatrixView& view) {
      const bool wanted_format = plan_.formats.empty() || std::ranges::count(plan_.formats, view.format) != 0;
      if (wanted_format && pattern.matches(name) && !leaves_out(view.format)) matrix(name, view);
      return go_on();
    });
  }

  void synthetic() {
    const std::vector<Planes> all{Planes::x8, Planes::x16, Planes::x24};
    std::vector<Format> wanted = plan_.formats;
    if (wanted.empty()) {
      for (const FormatInfo& info : formats()) {
        if (!leaves_out(info.format)) wanted.push_back(info.format);
      }
    }
    for (const Format format : wanted) {
      const std::string name(format_info(format).name);
      if (plan_.gpu != nullptr) foresee(format, plan_.planes.empty() ? all : plan_.planes);
      for (const Layout layout : layouts_for(format)) {
        for (Case& problem :
             standard_cases({format}, options_.tokens, plan_.planes.empty() ? all : plan_.planes, options_.seed)) {
          current_ = name;
          problem.layout = layout;
          problem.kernel = options_.device.kernel;
          add(name, draw({problem}, verify_));
          if (!go_on()) break;
        }
        if (!go_on()) break;
      }
      if (!stop_asked) row("synthetic", name);
      if (go_on() && plan_.gpu != nullptr) sweep(format, name);
      if (!go_on()) return;
    }
    if (plan_.gpu != nullptr) {
      offsets(std::ranges::count(wanted, Format::Q4_K) != 0 ? Format::Q4_K : wanted.front());
    }
  }

  void foresee(Format format, std::span<const Planes> planes) {
    for (const KernelDesc& kernel : kernels(plan_.gpu->info().backend)) {
      const std::string& wanted = options_.device.kernel;
      if (!wanted.empty() && wanted != kernel.name) continue;
      if (!accepts(kernel.formats, format_info(format))) continue;
      if (std::ranges::count(layouts_for(format), kernel.layout) == 0) continue;
      plan_.gpu->foresee(kernel, format, planes, options_.tokens);
    }
  }

  SweepWish wish_for(Format format) {
    return {format,
            layouts_for(format),
            options_.tokens,
            plan_.planes.empty() ? std::vector{Planes::x8, Planes::x16, Planes::x24} : plan_.planes,
            options_.device.kernel,
            options_.seed};
  }

  // Tilings, overlapped launches, groups and experts.
  void sweep(Format format, const std::string& name) {
    VerifyOptions options = verify_;
    options.check_weights = false;
    const SweepWish wish = wish_for(format);
    for (std::vector<Case>& set : launch_sweep(*plan_.gpu, wish)) {
      current_ = fmt::format("launches of {}", name);
      add(name, draw(std::move(set), options));
      if (!go_on()) break;
    }
    if (!stop_asked) row("launches", name);
  }

  void offsets(Format format) {
    const std::string name(format_info(format).name);
    bool ran = false;
    for (const Case& problem : offset_cases(*plan_.gpu, wish_for(format))) {
      current_ = "offsets past 4 GiB";
      const Verdict verdict = draw({problem}, verify_).front();
      if (verdict.error && verdict.error->code == LW_ERROR_MEMORY) {
        progress_.clear();
        report_.note(fmt::format("left out, for want of memory: {} ({})", to_string(problem), verdict.error->message));
        continue;
      }
      add(name, {verdict});
      ran = true;
      if (!go_on()) break;
    }
    if (ran && !stop_asked) row("offsets past 4 GiB", name);
  }

  Outcome problems(const gguf::Model* model) {
    for (const Case& problem : plan_.problems) {
      current_ = to_string(problem);
      const std::string format(format_info(problem.format).name);
      if (problem.tensor.empty()) {
        add(format, {verify_case(problem, verify_)});
      } else {
        LW_ASSIGN(view, find_matrix(*model, problem.tensor));
        if (view.format != problem.format || view.rows != problem.rows || view.cols != problem.cols) {
          return make_error(LW_ERROR_ARGUMENT, fmt::format("the problem says {}:{}x{}, and '{}' is {}:{}x{}", format,
                                                           problem.cols, problem.rows, printable(problem.tensor),
                                                           view.info().name, view.cols, view.rows));
        }
        add(format, verify_windows(view, problem, std::vector{problem.tokens}, verify_));
      }
      if (!stop_asked) row(problem.tensor.empty() ? "synthetic" : problem.tensor, format);
      if (!go_on()) break;
    }
    return Done{};
  }

  Exit finish(double seconds, bool of_model) {
    if (options_.json != "-") report_.summary(seconds);
    if (!options_.json.empty()) {
      Json document;
      document["arithmetic_version"] = lw_arithmetic_version();
      document["library_version"] = lw_version();
      document["device"] = options_.device.device;
      document["source"] = plan_.model.empty() ? Json(nullptr) : Json(plan_.model);
      document["complete"] = go_on();
      document.update(report_.json(seconds));
      Exit written = write_json(context_, options_.json, document);
      if (written.fault() != nullptr) return written;
    }
    if (stop_asked) return interrupted();
    return report_.exit(options_.strict || !of_model);
  }

  const VerifyCommandOptions& options_;
  const Plan& plan_;
  Progress progress_;
  VerifyReport report_;
  Context& context_;
  VerifyOptions verify_;
  std::string current_;
  std::vector<Format> raw_;       // noted as read raw
  std::vector<Format> left_out_;  // noted as left out
};

Exit verify(Context& context, const VerifyCommandOptions& options) {
  if (auto fault = check_device(options.device)) return *fault;
  LW_ASSIGN(plan, read_options(options));
  return Verifier(context, options, plan).run();
}

std::string fill_names() {
  std::string names;
  for (const Fill fill : all_fills) names += fmt::format("{}{}", names.empty() ? "" : ", ", fill_name(fill));
  return names;
}

Job setup_verify(Arguments& arguments) {
  auto options = std::make_shared<VerifyCommandOptions>();
  arguments
      .option("what", &options->what,
              "A GGUF file, problem strings, both, or nothing: synthetic tensors of every format")
      .type_name("[MODEL] [PROBLEM...]");
  const Argument format =
      arguments.list("--format", &options->formats, "Only these formats: q4_K,q6_K, or all").type_name("F,...");
  const Argument tensor =
      arguments
          .option("--tensor", &options->tensor, "Of a model, only matrices whose name this regular expression matches")
          .type_name("RE");
  const Argument tokens = arguments.tokens(&options->tokens);
  const Argument planes = arguments
                              .list("--activation", &options->activations,
                                    "x8,x16,x24 (default: x16 for a model, all for synthetic tensors)")
                              .type_name("A,...");
  const Argument fill =
      arguments
          .option("--fill", &options->fill,
                  fmt::format("What x holds for the tensors of a model: {} (default: gauss)", fill_names()))
          .type_name("FILL");
  const Argument seed =
      arguments.number("--seed", &options->seed, 0, UINT64_MAX, "Seed of everything that is synthetic (default: 1)");
  const Argument layout = arguments
                              .option("--layout", &options->layout,
                                      "Where the bits of W lie: raw (default), rows16, frag; on a GPU each that it has")
                              .type_name("L");
  options->said_by_problems = {format, tensor, tokens, planes, fill, seed, layout};
  options->of_models = {tensor, fill};
  options->device.declare_device(arguments);
  options->device.declare_threads(arguments);
  options->device.declare_kernel(arguments);
  arguments.flag("--keep-going", &options->keep_going, "Go on after a wrong bit; the exit code stays 1");
  arguments.flag("--strict", &options->strict, "Of a model too, a mistrusted verdict is a failure");
  declare_json(arguments, &options->json);
  return [options](Context& context) { return verify(context, *options); };
}

}  // namespace

const Command verify_command{
    "verify", "Prove products bit for bit against independent references",
    "  lanewise verify                                  every format, synthetic tensors\n"
    "  lanewise verify model.gguf                       every matrix of a model\n"
    "  lanewise verify model.gguf --tensor 'attn_(q|k)' --tokens 1,8 --activation x8,x24\n"
    "  lanewise verify --format q4_K,iq2_xxs --json report.json\n"
    "  lanewise verify 'gemv:q4_K:4096x33:tokens=4:act=x16:fill=cancel:seed=7'\n"
    "Each output is compared by memcmp with a second implementation and against float64 with a bound derived for it;\n"
    "each weight's decoding bit for bit. The first wrong bit ends the run with code 1 and the problem string that\n"
    "reproduces it; 'lanewise trace' shows its steps.",
    setup_verify};

}  // namespace lanewise::program
