// bench: how fast products are, beside what this machine can read.

#include <algorithm>
#include <memory>
#include <optional>

#include "backends/cpu/cpu.h"
#include "backends/gpu/launch.h"
#include "bench_command.h"
#include "bench_pack.h"
#include "bench_report.h"
#include "model.h"
#include "selection.h"

namespace lanewise::program {
namespace {

constexpr std::uint64_t least_walked = std::uint64_t{1} << 30;
constexpr std::uint64_t caches_walked = 4;

constexpr unsigned usual_rounds = 7;
unsigned rounds_of(const BenchOptions& options) { return options.rounds != 0 ? options.rounds : usual_rounds; }

class OnCpu final : public BenchCommand {
 public:
  OnCpu(Context& context, const BenchOptions& options, const BenchMachine& machine)
      : BenchCommand(context, options, "cpu", cpu_capabilities()),
        machine_(machine),
        report_(context.out, machine_, says_text(), options.verbose) {}

 private:
  BenchLog& log() override { return report_; }

  // rows16 where this processor has kernels for it.
  Layout usual_layout(const FormatInfo& /*info*/) override {
    if (usual_) return *usual_;
    usual_ = Layout::rows16;
    if (kernel_for(Format::Q8_0, Layout::rows16) == nullptr && kernel_for(Format::Q8_0, Layout::raw) != nullptr) {
      usual_ = Layout::raw;
      notes_.emplace_back("no kernel for layout rows16 can run here: layout raw");
    }
    return *usual_;
  }

  Outcome check_kernel(const Plan& /*kernel*/, const Case& /*problem*/) override { return Done{}; }

  void met(const PeerName& peer) override { machine_.peer = peer; }

  Outcome choose_memory() override {
    std::uint64_t largest = 0;
    for (const Case& problem : problems_) largest = std::max(largest, copy_stride(problem));
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
    LW_ASSIGN(memory, WalkedMemory::create(machine_.walked));
    memory_.emplace(std::move(memory));
    return Done{};
  }

  Outcome time(const Case& problem) override {
    BenchGroup group;
    group.problem = problem;
    group.tokens = options_.tokens;
    group.rounds = rounds_of(options_);
    group.threads = machine_.threads;
    group.spin = machine_.spin;
    group.peer = peer_;
    for (const bool hot : {false, true}) {
      if (hot && !options_.hot) continue;
      group.hot = hot;
      LW_ASSIGN(times, time_group(group, *memory_));
      if (stop_asked) return Done{};
      progress_.clear();
      if (hot && machine_.last_cache != 0 && copy_stride(problem) > machine_.last_cache) {
        report_.note(fmt::format("hot: {} are more than the last cache holds", human_bytes(copy_stride(problem))));
      }
      report_.add(times);
    }
    return Done{};
  }

  BenchMachine machine_;
  BenchReport report_;
  std::optional<WalkedMemory> memory_;
  std::optional<Layout> usual_;
};

Exit pack(Context& context, const BenchOptions& options, BenchMachine machine) {
  if (const std::string name = first_given(options.not_with_pack); !name.empty()) {
    return bad_usage(fmt::format("--pack packs every matrix of its model: leave {} out", name));
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
  if (const std::string name = first_given(options.not_on_cpu); !name.empty()) {
    return bad_usage(fmt::format("{} is of launches on a GPU: --device cuda:0", name));
  }
  if (auto fault = check_device(options.device, Computes::on_the_cpu)) return *fault;
  const BenchMachine machine = describe_machine(thread_count(options.device), !options.sleep);
  if (!options.pack.empty()) return pack(context, options, machine);
  return OnCpu(context, options, machine).run();
}

Job setup_bench(Arguments& arguments) {
  auto options = std::make_shared<BenchOptions>();
  const Argument format =
      arguments.list("--format", &options->formats, "Formats, or all (default: q8_0,q6_K,q4_K,q4_0,iq2_xxs)")
          .type_name("F,...");
  const Argument shape =
      arguments.list("--shape", &options->shapes, "Shapes (default: 4096x14336)").type_name("KxROWS,...");
  const Argument tokens = arguments.tokens(&options->tokens);
  arguments
      .option("--layout", &options->layout,
              "Where the bits of W lie (default: rows16, on a CUDA device frag; float formats raw)")
      .type_name("L");
  const Argument planes = declare_planes(arguments, &options->activation);
  options->device.declare_device(arguments);
  options->device.declare_threads(arguments);
  const Argument kernel = options->device.declare_kernel(arguments);
  const Argument sleep = arguments.flag("--sleep", &options->sleep,
                                        "Threads that sleep between calls (the library's) instead of spinning");
  const Argument hot =
      arguments.flag("--hot", &options->hot, "Beside the cold figures, those of one copy of W read over and over");
  arguments.number("--rounds", &options->rounds, 1, 1000,
                   "Interleaved rounds that medians are over, up to 1000 (default: 7; on a GPU 5 replays)");
  const Argument bytes =
      arguments.number("--bytes", &options->bytes, 1, std::uint64_t{1} << 40U,
                       "Bytes of copies of W (default: four last caches, at least 1 GiB; on a GPU 4 GiB)");
  const Argument model =
      arguments.option("--model", &options->model, "Shapes of this file's weights; ends with a projection")
          .type_name("FILE");
  const Argument pack =
      arguments.option("--pack", &options->pack, "Time putting this file's weights into the layout, against memcpy")
          .excludes(model)
          .type_name("FILE");
  const Argument verbose =
      arguments.flag("--verbose", &options->verbose, "Each case's problem string, for lanewise verify and trace");
  const Argument peer =
      arguments.option("--peer", &options->peer, "Time this program beside us (bench/peers/README.md)")
          .type_name("FILE");
  arguments.option("--peer-word", &options->peer_words, "A word of the peer's command line, once for each")
      .needs(peer)
      .type_name("W");
  arguments
      .option("--peer-patience", &options->peer_patience, "Seconds that an answer of the peer's may take (default: 60)")
      .needs(peer)
      .within(0.01, 3600.0)
      .type_name("S");
  arguments.flag("--strict", &options->strict, "A case without a figure of the peer's is an error").needs(peer);
  const Argument group = arguments
                             .number("--group", &options->group, 1, gpu::most_targets,
                                     "On a GPU: so many matrices of the shape in one launch, up to 8")
                             .excludes(model);
  const Argument experts =
      arguments
          .number("--experts", &options->experts, 1, gpu::most_experts,
                  "On a GPU: so many experts of the shape, all used by each token, gate and up in one launch")
          .excludes(model);
  options->not_on_gpu = {sleep, hot, pack};
  options->not_on_cpu = {group, experts};
  options->not_with_pack = {model, shape, format, tokens, planes, kernel, hot, bytes, verbose, peer};
  declare_json(arguments, &options->json);
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
    "  lanewise bench --device cuda:0 --shape 2560x640 --experts 8   gate and up of eight experts in one launch\n"
    "  lanewise bench --peer build/peers/ggml/lanewise-peer-ggml   another implementation beside us\n"
    "Cold: each call reads another copy of W. Every round times the ceiling (loops that only load, same bytes, same\n"
    "threads) and then each case. After timing, outputs are compared with the scalar kernel's; a wrong bit is exit 1.",
    setup_bench};

}  // namespace lanewise::program
