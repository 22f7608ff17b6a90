// compare: what quantised files cost and what they spoil, beside the file they were made from.

#include <algorithm>
#include <memory>

#include "bench_model.h"
#include "command.h"
#include "compare_plan.h"
#include "compare_report.h"
#include "compare_time.h"
#include "compare_x.h"
#include "device.h"
#include "model.h"
#include "options.h"

namespace lanewise::program {
namespace {

struct CompareOptions {
  std::string reference;
  std::vector<std::string> files;
  std::vector<std::string> x;
  std::string tensors;
  std::string activation = "x16";
  std::string json;
  std::uint64_t window = 8;
  unsigned rounds = 3;
  std::uint64_t bytes = 0;
  bool no_time = false;
  bool list = false;
  DeviceOptions device;
};

class Comparison {
 public:
  Comparison(Context& context, const CompareOptions& options) : context_(context), options_(options) {}

  Exit run() {
    LW_ASSIGN(planes, parse_planes(options_.activation));
    if (Exit opened = open(); opened.fault() != nullptr) return opened;
    LW_TRY(check_json(options_.json));
    LW_ASSIGN(only, NamePattern::compile(options_.tensors));
    plan_ = plan_comparison(models_, only);
    if (Exit checked = check_plan(); checked.fault() != nullptr) return checked;
    auto meter = ErrorMeter::open(options_.device, planes);
    if (!meter) return no_kernel(std::move(meter).error());
    for (const ComparedModel& model : models_) report_.files.push_back({model.path, {}, {}, {}, {}, {}});
    Progress progress(context_.quiet);
    if (Exit measured = measure(*meter, progress); measured.fault() != nullptr) return measured;
    if (stop_asked) return interrupted();
    Exit timed = options_.no_time ? Exit(exit_ok) : time(planes, progress);
    if (timed.fault() != nullptr) return timed;
    if (stop_asked) return interrupted();
    progress.clear();
    return finish();
  }

 private:
  Exit open() {
    std::vector<std::string> paths{options_.reference};
    paths.insert(paths.end(), options_.files.begin(), options_.files.end());
    for (const std::string& path : paths) {
      LW_ASSIGN(model, open_model(path));
      models_.push_back({path, std::move(model), {}, {}, {}, {}});
    }
    if (Outcome read = xs_.read(options_.x); !read) {
      Error error = std::move(read).error();
      return error.code == LW_ERROR_IO || error.code == LW_ERROR_MEMORY ? Exit(error) : Exit(bad_input(error));
    }
    return exit_ok;
  }

  Exit check_plan() {
    for (std::size_t m = 1; m < models_.size(); ++m) {
      const auto has = [m](const ComparedTensor& tensor) { return tensor.others[m - 1].has_value(); };
      if (std::ranges::any_of(plan_, has)) continue;
      return bad_input(make_error(
          LW_ERROR_NOT_FOUND,
          fmt::format("'{}' has no tensor of a name and shape of '{}'{}", printable(models_[m].path),
                      printable(models_[0].path), options_.tensors.empty() ? "" : " that --tensor matches")));
    }
    return exit_ok;
  }

  Exit measure(ErrorMeter& meter, Progress& progress) {
    std::uint64_t done = 0;
    std::uint64_t all = 0;
    for (const ComparedTensor& tensor : plan_) all += tensor.reference.matrices();
    for (const ComparedTensor& tensor : plan_) {
      for (std::uint64_t i = 0; i < tensor.reference.matrices(); ++i) {
        if (stop_asked) return exit_ok;
        progress.show(done++, all, tensor.reference.name);
        LW_TRY(measure_matrix(meter, tensor, i));
      }
    }
    return exit_ok;
  }

  Outcome measure_matrix(ErrorMeter& meter, const ComparedTensor& tensor, std::uint64_t index) {
    // The reference is compared with itself too: its outputs' error is the arithmetic's.
    std::vector<ScaledMatrix> matrices;
    std::vector<std::size_t> owners;
    const auto add = [&](std::size_t m, const gguf::TensorView& view) -> Outcome {
      LW_ASSIGN(matrix, matrix_of(models_[m].model, view, index));
      matrices.push_back(matrix);
      owners.push_back(m);
      return Done{};
    };
    LW_TRY(add(0, tensor.reference));
    for (std::size_t m = 1; m < models_.size(); ++m) {
      if (const auto& other = tensor.others[m - 1]) LW_TRY(add(m, *other));
    }
    const bool multiplied = !tensor.is_vector && !tensor.looked_up;
    const ComparedX* x = multiplied ? &xs_.of(tensor.reference.cols()) : nullptr;
    if (multiplied) ++(x->given ? x_given_ : x_gauss_);
    LW_ASSIGN(errors, meter.measure(matrices[0], matrices, x));
    const std::uint64_t count = tensor.reference.matrices();
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      const MatrixView& w = matrices[i].w;
      ComparedMatrix matrix;
      matrix.name = std::string(tensor.reference.name);
      if (count > 1) matrix.name += fmt::format("[{}]", index);
      matrix.format = w.format;
      matrix.rows = w.rows;
      matrix.cols = w.cols;
      matrix.bytes = w.bytes();
      matrix.is_vector = tensor.is_vector;
      matrix.passes = static_cast<double>(passes_of(models_[0].model, tensor.reference)) / static_cast<double>(count);
      matrix.x_given = x != nullptr && x->given;
      matrix.errors = errors[i];
      report_.files[owners[i]].matrices.push_back(std::move(matrix));
    }
    return Done{};
  }

  Exit time(Planes planes, Progress& progress) {
    CompareTimeOptions timing;
    timing.windows = {1};
    if (options_.window != 1) timing.windows.push_back(options_.window);
    timing.rounds = options_.rounds;
    timing.threads = thread_count(options_.device);
    timing.bytes = options_.bytes;
    timing.planes = planes;
    times_.emplace(timing);
    const auto for_each_timed = [&](const auto& visit) {
      for (ComparedFile& file : report_.files) {
        for (ComparedMatrix& matrix : file.matrices) {
          if (!matrix.is_vector && matrix.passes > 0) visit(matrix);
        }
      }
    };
    for_each_timed([&](const ComparedMatrix& each) { times_->add(each.format, each.rows, each.cols); });
    if (times_->empty()) return exit_ok;
    LW_TRY(times_->run(progress));
    for_each_timed([&](ComparedMatrix& each) { each.us = times_->of(each.format, each.rows, each.cols); });
    report_.windows = times_->windows();
    return exit_ok;
  }

  std::string x_text() const {
    std::string gauss = fmt::format("Gaussian, {} tokens, seed {}", ComparedXs::gauss_tokens, ComparedXs::gauss_seed);
    if (x_given_ == 0) return gauss;
    std::string given = fmt::format("of {}", fmt::join(options_.x, ", "));
    if (x_gauss_ == 0) return given;
    return fmt::format("{} for {} matrices, {} for {} of another K", given, x_given_, gauss, x_gauss_);
  }

  Exit finish() {
    for (std::size_t i = 0; i < models_.size(); ++i) {
      ComparedFile& file = report_.files[i];
      file.only_in_reference = std::move(models_[i].only_in_reference);
      file.only_here = std::move(models_[i].only_here);
      file.other_shape = std::move(models_[i].other_shape);
      file.not_weights = std::move(models_[i].not_weights);
    }
    report_.timed = times_.has_value() && !times_->empty();
    report_.x = x_text();
    report_.activation = options_.activation;
    for (const std::uint64_t cols : xs_.unused()) {
      report_.notes.push_back(fmt::format("no matrix has K = {}: that x was not used", cols));
    }
    if (report_.timed) {
      report_.notes.insert(report_.notes.end(), times_->notes().begin(), times_->notes().end());
    }
    if (options_.json != "-" && !context_.quiet) report_.print(context_.out, options_.list);
    if (!options_.json.empty()) {
      Json document = report_.json();
      if (report_.timed) document["machine"] = to_json(times_->machine());
      Exit written = write_json(context_, options_.json, document);
      if (written.fault() != nullptr) return written;
    }
    if (report_.timed && times_->differing() != 0) {
      return Fault{make_error(LW_ERROR_INTERNAL, fmt::format("{} outputs of timed products differ from the scalar "
                                                             "kernel's",
                                                             times_->differing())),
                   exit_wrong};
    }
    return exit_ok;
  }

  Context& context_;
  const CompareOptions& options_;
  std::vector<ComparedModel> models_;
  std::vector<ComparedTensor> plan_;
  ComparedXs xs_;
  std::optional<CompareTimes> times_;
  CompareReport report_;
  std::uint64_t x_given_ = 0;
  std::uint64_t x_gauss_ = 0;
};

Exit compare(Context& context, const CompareOptions& options) {
  if (auto fault = check_isa()) return *fault;
  return Comparison(context, options).run();
}

Job setup_compare(Arguments& arguments) {
  auto options = std::make_shared<CompareOptions>();
  arguments.option("REF", &options->reference, "The file that the others were made from, or any that is to be right")
      .required()
      .type_name("FILE");
  arguments.option("FILES", &options->files, "Files to compare with it, tensor by tensor of one name")
      .required()
      .type_name("FILE");
  arguments
      .option("-x,--input", &options->x,
              "x of outputs, a .npy file of [tokens, K] or [K], once for each K (default: Gaussian)")
      .type_name("FILE");
  arguments.option("--tensor", &options->tensors, "Only tensors whose name this regular expression finds")
      .type_name("REGEX");
  declare_planes(arguments, &options->activation);
  options->device.declare_threads(arguments);
  const Argument no_time = arguments.flag("--no-time", &options->no_time, "Errors and sizes alone");
  arguments.number("--window", &options->window, 1, 4096, "Tokens of the second window that is timed (default: 8)")
      .excludes(no_time);
  arguments.number("--rounds", &options->rounds, 1, 1000, "Rounds that times are medians over (default: 3)")
      .excludes(no_time);
  arguments
      .number("--bytes", &options->bytes, 1, std::uint64_t{1} << 40U,
              "Bytes of copies of W that are read in turn (default: four last caches)")
      .excludes(no_time);
  arguments.flag("--tensors", &options->list, "A row a tensor, instead of one for those alike in all layers");
  declare_json(arguments, &options->json);
  return [options](Context& context) { return compare(context, *options); };
}

}  // namespace

const Command compare_command{
    "compare", "Compare quantised files with what they were made from",
    "  lanewise compare model-bf16.gguf model-Q4_K_M.gguf model-Q6_K.gguf     errors, bytes and time\n"
    "  lanewise compare ref.gguf q.gguf --tensors --tensor ffn_down --no-time\n"
    "  lanewise compare ref.gguf q.gguf -x x640.npy -x x2048.npy --json results/compare.json\n"
    "  lanewise report results                                               the same as a picture\n"
    "Weights are compared as they decode, outputs as the library computes them with float64 over REF's weights.\n"
    "Times are those of `lanewise bench` for each format and shape: cold, on this machine's processor.",
    setup_compare};

}  // namespace lanewise::program
