// bench: how fast products are, beside what this machine can read.

#include <algorithm>
#include <memory>
#include <optional>

#include "backends/cpu/cpu.h"
#include "bench_options.h"
#include "bench_pack.h"
#include "bench_plan.h"
#include "bench_report.h"
#include "command.h"
#include "device.h"
#include "json.h"
#include "kernels/kernel.h"
#include "model.h"
#include "options.h"
#include "selection.h"

namespace lanewise::program {
namespace {

constexpr std::uint64_t least_walked = std::uint64_t{1} << 30;
constexpr std::uint64_t caches_walked = 4;

constexpr unsigned usual_rounds = 7;
unsigned rounds_of(const BenchOptions& options) { return options.rounds != 0 ? options.rounds : usual_rounds; }

class Bench {
 public:
  Bench(Context& context, const BenchOptions& options, const BenchMachine& machine)
      : context_(context),
        options_(options),
        machine_(machine),
        report_(context.out, machine_, !context.quiet && options.json != "-", options.verbose),
        progress_(context.quiet) {}

  Exit run() {
    if (Outcome planned = plan(); !planned) {
      if (kernel_missing_) return not_here(std::move(planned).error());
      return std::move(planned).error();
    }
    LW_TRY(check_json(options_.json));
    LW_TRY(meet_peer());
    LW_TRY(choose_memory());
    LW_ASSIGN(memory, WalkedMemory::create(machine_.walked));
    report_.head(notes_);
    std::uint64_t done = 0;
    for (BenchGroup& group : groups_) {
      progress_.show(done++, groups_.size(), fmt::format("{}", format_info(group.problem.format).name));
      for (const bool hot : {false, true}) {
        if (hot && !options_.hot) continue;
        group.hot = hot;
        LW_ASSIGN(times, time_group(group, memory));
        if (stop_asked) return interrupted();
        progress_.clear();
        if (hot && machine_.last_cache != 0 && copy_stride(group.problem) > machine_.last_cache) {
          report_.note(
              fmt::format("hot: {} are more than the last cache holds", human_bytes(copy_stride(group.problem))));
        }
        report_.add(times);
      }
      if (context_.out.failed()) break;
    }
    return finish();
  }

 private:
  // Who it is, and that it is there, before anything is timed. Each group starts its own.
  Outcome meet_peer() {
    if (options_.peer.empty()) return Done{};
    peer_ = peer_options(options_);
    LW_ASSIGN(peer, Peer::start(*peer_));
    machine_.peer = peer->name();
    for (BenchGroup& group : groups_) group.peer = peer_;
    return Done{};
  }

  Outcome plan() {
    LW_ASSIGN(planes, parse_planes(options_.activation));
    base_.planes = planes;
    base_.fill = Fill::random;
    base_.kernel = options_.device.kernel;
    LW_TRY(choose_layout());
    LW_ASSIGN(plan, plan_bench(options_));
    notes_.insert(notes_.end(), plan.notes.begin(), plan.notes.end());
    shapes_ = std::move(plan.shapes);
    for (const BenchPlan::Matrix& matrix : plan.matrices) LW_TRY(add_group(matrix.format, matrix.shape));
    return Done{};
  }

  // rows16 where nothing is asked for and this processor has kernels for it.
  Outcome choose_layout() {
    if (!options_.layout.empty()) {
      LW_ASSIGN(layout, parse_layout(options_.layout));
      base_.layout = layout;
      return Done{};
    }
    base_.layout = Layout::rows16;
    const auto runs_in = [&](Layout layout) {
      return find_kernel({Format::Q8_0, 16, 256, 1, base_.planes, layout}, "cpu", cpu_capabilities(), base_.kernel) !=
             nullptr;
    };
    if (!runs_in(Layout::rows16) && runs_in(Layout::raw)) {
      base_.layout = Layout::raw;
      notes_.emplace_back("no kernel for layout rows16 can run here: layout raw");
    }
    return Done{};
  }

  Outcome add_group(Format format, Shape shape) {
    BenchGroup group;
    group.problem = base_;
    group.problem.format = format;
    group.problem.rows = shape.rows;
    group.problem.cols = shape.cols;
    const FormatInfo& info = format_info(format);
    if (!has_layout(base_.layout, info)) {
      group.problem.layout = Layout::raw;
      notes_.push_back(
          fmt::format("{} is read raw: layout {} holds codes alone", info.name, layout_name(base_.layout)));
    }
    group.tokens = options_.tokens;
    group.rounds = rounds_of(options_);
    group.threads = machine_.threads;
    group.spin = machine_.spin;
    LW_TRY(check_case(group.problem));
    const Case& c = group.problem;
    for (const std::uint64_t tokens : group.tokens) {
      auto found = select({c.format, c.rows, c.cols, tokens, c.planes, c.layout}, "cpu", cpu_capabilities(), c.kernel);
      if (found) continue;
      kernel_missing_ = true;
      return std::move(found).error();
    }
    groups_.push_back(std::move(group));
    return Done{};
  }

  Outcome choose_memory() {
    std::uint64_t largest = 0;
    for (const BenchGroup& group : groups_) largest = std::max(largest, copy_stride(group.problem));
    // A peer has copies of its own.
    const std::uint64_t available = available_memory() / (peer_ ? 2 : 1);
    const std::uint64_t wanted = std::max(least_walked, caches_walked * machine_.last_cache);
    machine_.walked = wanted;
    machine_.walked_why = machine_.last_cache == 0 ? "the system shows no cache"
                                                   : fmt::format("last cache {}", human_bytes(machine_.last_cache));
    if (options_.bytes != 0) {
      machine_.walked = options_.bytes;
      machine_.walked_why = "asked for by --bytes";
      if (machine_.walked < wanted) machine_.walked_why += ", less than is cold for sure";
    } else if (available != 0 && wanted > available / 4) {
      machine_.walked = available / 4;
      machine_.walked_why = peer_ ? "an eighth of the free memory, and the peer as much: less than is cold for sure"
                                  : "a quarter of the free memory, less than is cold for sure";
    }
    if (largest > machine_.walked) {
      machine_.walked = largest;
      machine_.walked_why = "one copy of the largest matrix";
    }
    if (available != 0 && machine_.walked > available / 2) {
      return make_error(LW_ERROR_MEMORY, fmt::format("{} to walk are more than half of the {} of memory that is free{}",
                                                     human_bytes(machine_.walked), human_bytes(available),
                                                     peer_ ? " to each, the peer and us" : ""));
    }
    return Done{};
  }

  Exit finish() {
    report_.summary();
    const std::vector<Projection> projections = project(shapes_, report_.times());
    const bool text = !context_.quiet && options_.json != "-";
    if (text && !shapes_.empty()) print_projections(context_.out, projections);
    if (!options_.json.empty()) {
      Json document = report_.json();
      if (!shapes_.empty()) document["model"] = model_json(options_.model, shapes_, projections);
      Exit written = write_json(context_, options_.json, document);
      if (written.fault() != nullptr) return written;
    }
    return report_.exit(options_.strict);
  }

  Context& context_;
  const BenchOptions& options_;
  BenchMachine machine_;
  BenchReport report_;
  Progress progress_;
  Case base_;
  std::vector<ModelShape> shapes_;
  std::vector<BenchGroup> groups_;
  std::vector<std::string> notes_;
  std::optional<PeerOptions> peer_;
  bool kernel_missing_ = false;  // what plan()'s error is about
};

Exit pack(Context& context, const BenchOptions& options, BenchMachine machine) {
  for (const CLI::Option* option : options.not_with_pack) {
    if (option->count() != 0) {
      return bad_usage(fmt::format("--pack packs every matrix of its model: leave {} out", option->get_name()));
    }
  }
  LW_ASSIGN(layout, parse_layout(options.layout.empty() ? "rows16" : options.layout));
  LW_ASSIGN(model, open_model(options.pack));
  LW_TRY(check_json(options.json));
  Crew crew(machine.threads, machine.spin);
  machine.threads = crew.threads();
  auto measured = time_packing(model, layout, crew, rounds_of(options));
  if (stop_asked) return interrupted();
  LW_ASSIGN(times, std::move(measured));
  if (!context.quiet && options.json != "-") {
    print_machine(context.out, machine);
    print(context.out, times, layout_name(layout));
  }
  if (!options.json.empty()) {
    Json document{{"library_version", lw_version()}, {"machine", to_json(machine)}, {"file", options.pack}};
    document["layout"] = layout_name(layout);
    document["pack"] = to_json(times);
    Exit written = write_json(context, options.json, document);
    if (written.fault() != nullptr) return written;
  }
  if (times.wrong.empty()) return exit_ok;
  return Fault{make_error(LW_ERROR_INTERNAL,
                          fmt::format("'{}', packed and unpacked, is not the file's bytes", printable(times.wrong))),
               exit_wrong};
}

Exit bench(Context& context, const BenchOptions& options) {
  if (parse_gpu_name(options.device.device)) return bench_on_gpu(context, options);
  if (auto fault = check_device(options.device, Computes::on_the_cpu)) return *fault;
  const BenchMachine machine = describe_machine(thread_count(options.device), !options.sleep);
  if (!options.pack.empty()) return pack(context, options, machine);
  return Bench(context, options, machine).run();
}

Job setup_bench(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  auto* format =
      declare_list(app, "--format", &options->formats, "Formats, or all (default: q8_0,q6_K,q4_K,q4_0,iq2_xxs)")
          ->type_name("F,...");
  auto* shape = declare_list(app, "--shape", &options->shapes, "Shapes (default: 4096x14336)")->type_name("KxROWS,...");
  auto* tokens = declare_tokens(app, &options->tokens);
  app.add_option("--layout", options->layout,
                 "Where the bits of W lie (default: rows16, on a CUDA device frag; float formats raw)")
      ->type_name("L");
  auto* planes = declare_planes(app, &options->activation);
  options->device.declare_device(app);
  options->device.declare_threads(app);
  auto* kernel = options->device.declare_kernel(app);
  auto* sleep =
      app.add_flag("--sleep", options->sleep, "Threads that sleep between calls (the library's) instead of spinning");
  auto* hot = app.add_flag("--hot", options->hot, "Beside the cold figures, those of one copy of W read over and over");
  declare_number(app, "--rounds", &options->rounds, 1, 1000,
                 "Interleaved rounds that medians are over, up to 1000 (default: 7; on a GPU 5 replays)");
  auto* bytes = declare_number(app, "--bytes", &options->bytes, 1, std::uint64_t{1} << 40U,
                               "Bytes of copies of W (default: four last caches, at least 1 GiB; on a GPU 4 GiB)");
  auto* model = app.add_option("--model", options->model, "Shapes of this file's weights; ends with a projection")
                    ->type_name("FILE");
  auto* pack =
      app.add_option("--pack", options->pack, "Time putting this file's weights into the layout, against memcpy")
          ->excludes(model)
          ->type_name("FILE");
  auto* verbose =
      app.add_flag("--verbose", options->verbose, "Each case's problem string, for lanewise verify and trace");
  auto* peer =
      app.add_option("--peer", options->peer, "Time this program beside us (bench/peers/README.md)")->type_name("FILE");
  app.add_option("--peer-word", options->peer_words, "A word of the peer's command line, once for each")
      ->needs(peer)
      ->type_name("W");
  app.add_option("--peer-patience", options->peer_patience,
                 "Seconds that an answer of the peer's may take (default: 60)")
      ->needs(peer)
      ->check(CLI::Range(0.01, 3600.0))
      ->type_name("S");
  app.add_flag("--strict", options->strict, "A case without a figure of the peer's is an error")->needs(peer);
  options->not_on_gpu = {sleep, hot, pack};
  options->not_with_pack = {model, shape, format, tokens, planes, kernel, hot, bytes, verbose, peer};
  declare_json(app, &options->json);
  return [options](Context& context) { return bench(context, *options); };
}

}  // namespace

const Command bench_command{
    "bench", "Time products beside what this machine can read",
    "  lanewise bench                                    five formats at 4096x14336, windows 1,2,4,8\n"
    "  lanewise bench --format q4_K --shape 2560x640,4096x14336 --tokens 1,8 --threads 2 --json out.json\n"
    "  lanewise bench --layout raw --format q8_0 --hot   straight off GGUF's rows; in cache too\n"
    "  lanewise bench --model model.gguf                 a model's shapes, and what they come to in tokens/s\n"
    "  lanewise bench --pack model.gguf                  what packing costs at load\n"
    "  lanewise bench --device cuda:0 --format all       on a GPU, beside what its memory can deliver\n"
    "  lanewise bench --peer build/peers/ggml/lanewise-peer-ggml   another implementation beside us\n"
    "Cold: each call reads another copy of W. Every round times the ceiling (loops that only load, same bytes, same\n"
    "threads) and then each case. After timing, outputs are compared with the scalar kernel's; a wrong bit is exit 1.",
    setup_bench};

}  // namespace lanewise::program
