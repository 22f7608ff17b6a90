// bench on a device with memory of its own.

#include <algorithm>
#include <memory>
#include <optional>

#include "bench_gpu_report.h"
#include "bench_options.h"
#include "bench_plan.h"
#include "json.h"
#include "kernels/kernel.h"
#include "selection.h"

namespace lanewise::program {
namespace {

constexpr std::uint64_t usually_walked = std::uint64_t{4} << 30;
constexpr unsigned usual_replays = 5;

class Run {
 public:
  Run(Context& context, const BenchOptions& options, std::shared_ptr<gpu::Device> device, gpu::Timer& timer)
      : context_(context),
        options_(options),
        device_(std::move(device)),
        timer_(timer),
        report_(context.out, machine_, !context.quiet && options.json != "-", options.verbose),
        progress_(context.quiet) {}

  Exit run() {
    if (Outcome planned = plan(); !planned) {
      if (kernel_missing_) return not_here(std::move(planned).error());
      return std::move(planned).error();
    }
    LW_TRY(check_json(options_.json));
    LW_TRY(choose_memory());
    GpuBenchOptions wanted;
    wanted.walked = machine_.walked;
    wanted.replays = machine_.replays;
    wanted.threads = thread_count(options_.device);
    if (!options_.peer.empty()) {
      wanted.peer = peer_options(options_);
      LW_ASSIGN(peer, Peer::start(*wanted.peer));  // who it is, and that it is there, before anything is timed
      machine_.peer = peer->name();
    }
    GpuBench bench(device_, timer_, wanted);
    report_.head(plan_.notes);
    std::uint64_t done = 0;
    for (const Case& problem : problems_) {
      progress_.show(done++, problems_.size(), format_info(problem.format).name);
      LW_ASSIGN(times, bench.time(problem, options_.tokens));
      if (stop_asked) return interrupted();
      progress_.clear();
      report_.add(times);
      for (; warned_ < bench.warm().size(); ++warned_) report_.warn(bench.warm()[warned_]);
      if (context_.out.failed()) break;
    }
    return finish(bench.ceiling_gbps());
  }

 private:
  Outcome plan() {
    LW_ASSIGN(planes, parse_planes(options_.activation));
    base_.planes = planes;
    base_.fill = Fill::random;
    base_.kernel = options_.device.kernel;
    if (!options_.layout.empty()) {
      LW_ASSIGN(layout, parse_layout(options_.layout));
      asked_ = layout;
    }
    LW_ASSIGN(found, plan_bench(options_));
    plan_ = std::move(found);
    for (const BenchPlan::Matrix& matrix : plan_.matrices) LW_TRY(add(matrix));
    return Done{};
  }

  // The device's own where nothing is asked for and this device has the layout and a kernel for it.
  Layout choose_layout(const FormatInfo& info) {
    const Layout wanted = asked_.value_or(device_->preferred_layout());
    if (!has_layout(wanted, info)) {
      if (asked_) {
        plan_.notes.push_back(
            fmt::format("{} is read raw: layout {} holds codes alone", info.name, layout_name(wanted)));
      }
      return Layout::raw;
    }
    if (asked_) return wanted;
    const KernelDesc* const kernel = find_kernel({info.format, 1, 256, 1, base_.planes, wanted},
                                                 device_->info().backend, device_->capabilities(), base_.kernel);
    const bool there = kernel != nullptr && is_built(*kernel, info.format) && device_->has_layout(wanted, info.format);
    return there ? wanted : Layout::raw;
  }

  Outcome add(const BenchPlan::Matrix& matrix) {
    Case problem = base_;
    problem.format = matrix.format;
    problem.rows = matrix.shape.rows;
    problem.cols = matrix.shape.cols;
    const FormatInfo& info = format_info(problem.format);
    problem.layout = choose_layout(info);
    LW_TRY(check_case(problem));
    for (const std::uint64_t tokens : options_.tokens) {
      auto found = select({problem.format, problem.rows, problem.cols, tokens, problem.planes, problem.layout},
                          device_->info().backend, device_->capabilities(), problem.kernel);
      kernel_missing_ = true;
      if (!found) return std::move(found).error();
      if (!is_built(*found->kernel, problem.format) || !device_->has_layout(problem.layout, problem.format)) {
        return make_error(LW_ERROR_UNSUPPORTED, fmt::format("this build has no unit of kernel '{}'", found->name));
      }
      kernel_missing_ = false;
    }
    problems_.push_back(std::move(problem));
    return Done{};
  }

  Outcome choose_memory() {
    machine_.device = device_->info().id();
    machine_.info = device_->info();
    machine_.cache_bytes = timer_.cache_bytes();
    machine_.walked = options_.bytes != 0 ? options_.bytes : usually_walked;
    machine_.replays = options_.rounds != 0 ? options_.rounds : usual_replays;
    // Beside the copies, what W is packed from lies on the device twice.
    const std::uint64_t room = machine_.info.memory_bytes / 2;
    if (options_.bytes == 0 && machine_.walked > room) {
      machine_.walked = room;
      plan_.notes.push_back(fmt::format("copies of W in half of the device's memory, {}", human_bytes(room)));
    }
    return Done{};
  }

  Exit finish(double ceiling_gbps) {
    report_.summary(ceiling_gbps);
    std::vector<BenchTime> times;
    for (const GpuTime& time : report_.times()) {
      BenchTime each;
      each.problem = time.problem;
      each.median_us = time.plain.us;
      times.push_back(std::move(each));
    }
    const std::vector<Projection> projections = project(plan_.shapes, times);
    const bool text = !context_.quiet && options_.json != "-";
    if (text && !plan_.shapes.empty()) print_projections(context_.out, projections);
    if (!options_.json.empty()) {
      Json document = report_.json(ceiling_gbps);
      if (!plan_.shapes.empty()) document["model"] = model_json(options_.model, plan_.shapes, projections);
      Exit written = write_json(context_, options_.json, document);
      if (written.fault() != nullptr) return written;
    }
    return report_.exit(options_.strict);
  }

  Context& context_;
  const BenchOptions& options_;
  std::shared_ptr<gpu::Device> device_;
  gpu::Timer& timer_;
  GpuBenchMachine machine_;
  GpuBenchReport report_;
  Progress progress_;
  Case base_;
  BenchPlan plan_;
  std::optional<Layout> asked_;
  std::vector<Case> problems_;
  std::size_t warned_ = 0;
  bool kernel_missing_ = false;  // what plan()'s error is about
};

}  // namespace

Exit bench_on_gpu(Context& context, const BenchOptions& options) {
  for (const CLI::Option* option : options.not_on_gpu) {
    if (option->count() != 0) {
      return bad_usage(fmt::format("{} is of the CPU: leave it out beside --device {}", option->get_name(),
                                   gguf::escape_for_terminal(options.device.device, 40)));
    }
  }
  if (auto fault = check_device(options.device)) return *fault;
  LW_ASSIGN(device, open_gpu(options.device.device));
  LW_ASSIGN(timer, make_gpu_timer(device));
  return Run(context, options, device, *timer).run();
}

}  // namespace lanewise::program
