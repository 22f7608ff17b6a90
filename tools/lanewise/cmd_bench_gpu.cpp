// bench on a device with memory of its own.

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "bench_command.h"
#include "bench_gpu_report.h"
#include "gguf/escape.h"

namespace lanewise::program {
namespace {

constexpr std::uint64_t usually_walked = std::uint64_t{4} << 30;
constexpr unsigned usual_replays = 5;

class OnGpu final : public BenchCommand {
 public:
  OnGpu(Context& context, const BenchOptions& options, std::shared_ptr<gpu::Device> device, gpu::Timer& timer)
      : BenchCommand(context, options, device->info().backend, device->capabilities()),
        device_(std::move(device)),
        timer_(timer),
        report_(context.out, machine_, says_text(), options.verbose) {}

 private:
  BenchLog& log() override { return report_; }

  // The device's own where it has that for the format, and a kernel for it.
  Layout usual_layout(const FormatInfo& info) override {
    const Layout own = device_->preferred_layout();
    if (!has_layout(own, info)) return Layout::raw;
    const KernelDesc* const kernel = kernel_for(info.format, own);
    return kernel != nullptr && can_run(*kernel, info.format, own) ? own : Layout::raw;
  }

  Outcome check_kernel(const Plan& kernel, const Case& problem) override {
    if (can_run(*kernel.kernel, problem.format, problem.layout)) return Done{};
    return make_error(LW_ERROR_UNSUPPORTED, fmt::format("this build has no unit of kernel '{}'", kernel.name));
  }
  [[nodiscard]] bool can_run(const KernelDesc& kernel, Format format, Layout layout) const {
    return is_built(kernel, format) && device_->has_layout(layout, format);
  }

  void met(const PeerName& peer) override { machine_.peer = peer; }

  Outcome choose_memory() override {
    machine_.device = device_->info().id();
    machine_.info = device_->info();
    machine_.cache_bytes = timer_.cache_bytes();
    machine_.walked = options_.bytes != 0 ? options_.bytes : usually_walked;
    machine_.replays = options_.rounds != 0 ? options_.rounds : usual_replays;
    // Beside the copies, what W is packed from lies on the device twice.
    const std::uint64_t room = machine_.info.memory_bytes / 2;
    if (options_.bytes == 0 && machine_.walked > room) {
      machine_.walked = room;
      notes_.push_back(fmt::format("copies of W in half of the device's memory, {}", human_bytes(room)));
    }
    GpuBenchOptions wanted;
    wanted.walked = machine_.walked;
    wanted.replays = machine_.replays;
    wanted.threads = thread_count(options_.device);
    wanted.peer = peer_;
    bench_.emplace(device_, timer_, wanted);
    return Done{};
  }

  Outcome time(const Case& problem) override {
    LW_ASSIGN(times, bench_->time(problem, options_.tokens));
    if (stop_asked) return Done{};
    progress_.clear();
    report_.add(times);
    for (; warned_ < bench_->warm().size(); ++warned_) report_.warn(bench_->warm()[warned_]);
    machine_.ceiling_gbps = bench_->ceiling_gbps();
    return Done{};
  }

  std::shared_ptr<gpu::Device> device_;
  gpu::Timer& timer_;
  GpuBenchMachine machine_;
  GpuBenchReport report_;
  std::optional<GpuBench> bench_;
  std::size_t warned_ = 0;
};

}  // namespace

Exit bench_on_gpu(Context& context, const BenchOptions& options) {
  if (const std::string name = first_given(options.not_on_gpu); !name.empty()) {
    return bad_usage(fmt::format("{} is of the CPU: leave it out beside --device {}", name,
                                 gguf::escape_for_terminal(options.device.device, 40)));
  }
  if (auto fault = check_device(options.device)) return *fault;
  LW_ASSIGN(device, open_gpu(options.device.device));
  LW_ASSIGN(timer, make_gpu_timer(device));
  Exit exit = OnGpu(context, options, device, *timer).run();
  print_warnings(device.get());
  return exit;
}

}  // namespace lanewise::program
