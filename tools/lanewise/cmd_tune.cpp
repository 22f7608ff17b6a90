// tune: finds what is best on this device for each shape, and keeps it.

#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include <fmt/format.h>

#include "bench_plan.h"
#include "command.h"
#include "gguf/escape.h"
#include "model.h"
#include "options.h"
#include "selection.h"
#include "tune_report.h"
#include "tune_run.h"

namespace lanewise::program {
namespace {

constexpr double cpu_budget = 600;
constexpr double gpu_budget = 60;

struct TuneOptions {
  std::string model;
  std::vector<std::string> formats;
  std::vector<std::string> shapes;
  std::vector<std::uint64_t> tokens{1, 2, 4, 8};
  std::string layout;
  std::string activation = "x16";
  std::string store;
  std::string json;
  double budget = 0;
  unsigned candidates = 12;
  bool keep_nothing = false;
  DeviceOptions device;
  TuneDeviceOptions measuring;
};

// Where no model is given: the matrices of two models that many run, in the formats that most files are in.
const std::vector<std::string> built_in_formats{"q4_K", "q6_K", "q8_0"};
const std::vector<std::string> built_in_shapes{
    "2048x512",  "2048x2048", "2048x8192",  "8192x2048",  "2048x128256",   // 1.2 billion weights
    "4096x1024", "4096x4096", "4096x14336", "14336x4096", "4096x128256"};  // 8 billion

// Every folder of the path that isn't there.
Outcome make_folders(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string folder = path.substr(0, at);
    if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
      return make_error(LW_ERROR_IO, fmt::format("the folder '{}' can't be made", folder));
    }
  }
  return Done{};
}

// The file that results go to, and what is in it.
class Keeper {
 public:
  Keeper(std::string path, tune::Fingerprint fingerprint) : path_(std::move(path)) {
    store_.fingerprint = std::move(fingerprint);
  }

  // What was found before stays, where it is of this device and these kernels; otherwise a line says why not.
  void open() {
    auto found = tune::read_store(path_);
    if (!found) {
      if (found.error().code != LW_ERROR_NOT_FOUND) ignore(found.error().message);
      return;
    }
    if (const std::string differs = tune::difference(found->fingerprint, store_.fingerprint); !differs.empty()) {
      ignore(fmt::format("'{}' was {}", path_, differs));
      return;
    }
    store_ = std::move(*found);
  }

  Outcome keep(tune::StoreEntry entry) {
    store_.put(std::move(entry));
    LW_TRY(make_folders(path_));
    return write_file(path_, tune::store_text(store_));
  }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static void ignore(const std::string& why) {
    fmt::print(stderr, "lanewise: warning: earlier results are ignored: {}\n", gguf::escape_for_terminal(why, 400));
  }

  std::string path_;
  tune::Store store_;
};

class TuneCommand {
 public:
  TuneCommand(Context& context, const TuneOptions& options) : context_(context), options_(options) {}

  Exit run() {
    LW_ASSIGN(planes, parse_planes(options_.activation));
    wish_.planes = planes;
    LW_ASSIGN(device, open_tune_device(options_.device, options_.measuring));
    LW_TRY(plan(*device));
    LW_TRY(check_json(options_.json));
    std::optional<Keeper> keeper;
    if (!options_.keep_nothing) {
      std::string path = options_.store;
      if (path.empty()) {
        LW_ASSIGN(usual, tune::store_path(device->fingerprint()));
        path = usual;
      }
      keeper.emplace(path, device->fingerprint());
      keeper->open();
    }
    std::vector<MatrixWish> wishes;
    for (const TuneTarget& target : wish_.targets) wishes.push_back(target.wish);
    LW_TRY(device->choose_memory(wishes));
    return tune(*device, keeper ? &*keeper : nullptr);
  }

 private:
  [[nodiscard]] bool says_text() const { return !context_.quiet && options_.json != "-"; }

  Outcome plan(const TuneDevice& device) {
    BenchOptions of_bench;
    of_bench.model = options_.model;
    of_bench.formats = options_.formats;
    of_bench.shapes = options_.shapes;
    if (options_.model.empty() && of_bench.formats.empty()) of_bench.formats = built_in_formats;
    if (options_.model.empty() && of_bench.shapes.empty()) of_bench.shapes = built_in_shapes;
    LW_ASSIGN(found, plan_bench(of_bench));
    notes_ = found.notes;
    std::optional<Layout> asked;
    if (!options_.layout.empty()) {
      LW_ASSIGN(layout, parse_layout(options_.layout));
      asked = layout;
    }
    for (std::size_t i = 0; i < found.matrices.size(); ++i) {
      const BenchPlan::Matrix& matrix = found.matrices[i];
      const FormatInfo& info = format_info(matrix.format);
      TuneTarget target;
      target.wish = {matrix.format, matrix.shape.rows, matrix.shape.cols,
                     asked && has_layout(*asked, info) ? *asked : device.usual_layout(info), 1};
      Case problem;
      problem.format = matrix.format;
      problem.rows = matrix.shape.rows;
      problem.cols = matrix.shape.cols;
      LW_TRY(check_case(problem));
      if (!found.shapes.empty()) {
        target.matrices = found.shapes[i].count;
        target.passes = found.shapes[i].passes;
      }
      wish_.targets.push_back(target);
    }
    wish_.tokens = options_.tokens;
    wish_.budget = options_.budget != 0 ? options_.budget : device.machine().gpu == nullptr ? cpu_budget : gpu_budget;
    wish_.most_candidates = options_.candidates;
    return Done{};
  }

  Exit tune(TuneDevice& device, Keeper* keeper) {
    const tune::Machine machine = device.machine();
    const std::uint32_t threads = machine.gpu == nullptr ? machine.threads : 0;
    const std::string date = today();
    Progress progress(context_.quiet);
    if (says_text()) {
      for (const std::string& note : notes_) context_.out.print("note: {}\n", note);
      print_tune_head(context_.out, device, wish_);
    }
    const auto keep = [&](const TuneEntry& entry) -> Outcome {
      if (keeper != nullptr) LW_TRY(keeper->keep(store_entry(entry, threads, date)));
      progress.clear();
      if (says_text()) print_tune_entry(context_.out, entry);
      return context_.out.flush();
    };
    LW_ASSIGN(outcome, run_tuning(device, wish_, progress, keep));
    progress.clear();
    const std::string path = keeper == nullptr ? "" : keeper->path();
    if (says_text()) {
      print_tune_summary(context_.out, wish_, outcome);
      if (!path.empty()) context_.out.print("kept in {}\n", gguf::escape_for_terminal(path, 400));
    }
    if (!options_.json.empty()) {
      Exit written = write_json(context_, options_.json,
                                tune_json(device, options_.device.device, options_.model, path, wish_, outcome));
      if (written.fault() != nullptr) return written;
    }
    print_warnings(machine.gpu);
    if (!outcome.interrupted) return exit_ok;
    return Fault{make_error(LW_ERROR_IO, fmt::format("interrupted; {} entries were found and {}",
                                                     outcome.entries.size(), path.empty() ? "shown" : "kept")),
                 exit_interrupted};
  }

  Context& context_;
  const TuneOptions& options_;
  TuneWish wish_;
  std::vector<std::string> notes_;
};

Exit tune(Context& context, const TuneOptions& options) {
  if (auto fault = check_device(options.device)) return *fault;
  return TuneCommand(context, options).run();
}

Job setup_tune(Arguments& arguments) {
  auto options = std::make_shared<TuneOptions>();
  arguments.option("MODEL", &options->model, "Shapes of this file's weights (default: a built-in list)");
  arguments.list("--format", &options->formats, "Formats, or all (default: the model's; q4_K,q6_K,q8_0)")
      .type_name("F,...");
  arguments.list("--shape", &options->shapes, "Shapes in place of the built-in list").type_name("KxROWS,...");
  arguments.tokens(&options->tokens);
  arguments.option("--layout", &options->layout, "Where the bits of W lie (default: the device's fastest)")
      .type_name("L");
  declare_planes(arguments, &options->activation);
  options->device.declare_device(arguments);
  options->device.declare_threads(arguments);
  arguments.option("--budget", &options->budget, "Seconds that all of it may take (default: 600; on a GPU 60)")
      .within(0.1, 86400.0)
      .type_name("S");
  arguments.number("--candidates", &options->candidates, 1, 1000,
                   "Tiles measured beside the default, up to 1000 (default: 12)");
  options->measuring.declare(arguments);
  const Argument store =
      arguments.option("--store", &options->store, "Keep results in this file (default: one a device in the cache)")
          .type_name("FILE");
  arguments.flag("--keep-nothing", &options->keep_nothing, "Keep no results").excludes(store);
  declare_json(arguments, &options->json);
  return [options](Context& context) { return tune(context, *options); };
}

}  // namespace

const Command tune_command{
    "tune", "Find the best tile for each shape on this device, and keep it",
    "  lanewise tune model.gguf                          every shape of a model, ten minutes at most\n"
    "  lanewise tune --format q4_K --shape 4096x14336    one shape\n"
    "  lanewise tune model.gguf --device cuda:0 --budget 60 --json tune.json\n"
    "  lanewise tune --device cuda:0 --store src/tune/db/cuda-nvidia-h200.json   defaults to be shipped\n"
    "Every candidate's outputs are compared with the scalar kernel's before its time counts: no bit depends on what "
    "is\n"
    "chosen. Interrupted, it keeps what it found. docs/tuning.md explains how times become a choice.",
    setup_tune};

}  // namespace lanewise::program
