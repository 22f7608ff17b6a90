// Tuning on a device with memory of its own: chains of launches over copies of W against the device's clock.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "backends/cpu/cpu.h"
#include "backends/gpu/timer.h"
#include "tune_device.h"

namespace lanewise::program {
namespace tuning_on_gpu {
namespace {

constexpr double usual_timing_seconds = 0.001;
constexpr std::uint64_t least_walked = std::uint64_t{512} << 20U;
constexpr std::uint64_t caches_walked = 6;
constexpr std::uint64_t most_copies = 600;
constexpr std::uint64_t outputs = 4;  // buffers that y goes round
constexpr std::uint64_t least_products = 4;
constexpr std::uint64_t most_products = 400;  // in a chain
constexpr double control_bound = 0.005;
constexpr std::uint64_t align_up(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

// Copies of one matrix in its layout.
struct GpuCopies {
  MatrixWish wish;
  gpu::Memory memory;
  std::uint64_t stride = 0;
  std::uint64_t count = 0;

  [[nodiscard]] std::uint8_t* at(std::uint64_t copy) const { return memory.data() + copy % count * stride; }
};

std::uint64_t stride_of(const gpu::Device& device, const MatrixWish& wish) {
  return align_up(device.layout_bytes(wish.layout, wish.view()));
}

Result<GpuCopies> make_copies(const std::shared_ptr<gpu::Device>& device, const BaseMatrix& base, std::uint64_t room) {
  const MatrixWish& wish = base.wish();
  GpuCopies copies;
  copies.wish = wish;
  copies.stride = stride_of(*device, wish);
  copies.count = std::clamp<std::uint64_t>(room / copies.stride, 1, most_copies);
  LW_ASSIGN(memory, gpu::Memory::allocate(device, copies.count * copies.stride, copies.stride));
  copies.memory = std::move(memory);
  std::vector<std::uint8_t> host(wish.view().bytes());
  base.copy_rows(0, wish.rows, host.data());
  if (wish.layout == Layout::raw) {
    LW_TRY(device->copy(copies.at(0), host.data(), host.size()));
  } else {
    MatrixView raw = wish.view();
    LW_ASSIGN(there, gpu::Memory::allocate(device, host.size(), device->layout_unit(Layout::raw, raw)));
    LW_TRY(device->copy(there.data(), host.data(), host.size()));
    raw.data = there.data();
    LW_TRY(device->pack(wish.layout, raw, copies.at(0), nullptr));
    LW_TRY(device->wait(nullptr));
  }
  const std::uint64_t bytes = device->layout_bytes(wish.layout, wish.view());
  for (std::uint64_t copy = 1; copy < copies.count; ++copy) LW_TRY(device->copy(copies.at(copy), copies.at(0), bytes));
  return copies;
}

// x there as the kernels of a format read it, and room for y.
struct GpuInput {
  std::vector<float> values;
  std::unique_ptr<Activation> activation;
  gpu::Memory x;
  std::unique_ptr<gpu::Image> image;
  gpu::Memory y;
  std::uint64_t y_bytes = 0;  // of one of `outputs`

  static Result<GpuInput> make(const std::shared_ptr<gpu::Device>& device, const MatrixWish& wish, Planes planes,
                               std::uint64_t tokens) {
    GpuInput input;
    LW_ASSIGN(activation, make_activation(wish, planes, tokens, input.values));
    input.activation = std::move(activation);
    const std::uint64_t bytes = input.values.size() * sizeof(float);
    LW_ASSIGN(x, gpu::Memory::allocate(device, bytes));
    input.x = std::move(x);
    LW_TRY(device->copy(input.x.data(), input.values.data(), bytes));
    LW_ASSIGN(image, gpu::Image::create(device, planes, tokens, wish.cols));
    input.image = std::move(image);
    LW_TRY(input.image->set({input.x.data(), Dtype::f32, tokens, wish.cols, wish.cols}, false, nullptr));
    LW_TRY(input.image->prepare(format_info(wish.format), false, nullptr));
    LW_TRY(device->wait(nullptr));
    input.y_bytes = align_up(tokens * wish.rows * sizeof(float));
    LW_ASSIGN(y, gpu::Memory::allocate(device, outputs * input.y_bytes));
    input.y = std::move(y);
    return input;
  }
};

// One product of a chain: a launch for each slice of tokens.
Outcome launch(gpu::Device& device, const KernelDesc& kernel, const gpu::LaunchStyle& style, const MatrixWish& wish,
               const std::uint8_t* w, const gpu::Image& image, std::uint8_t* y, void* stream) {
  gpu::Launch what = gpu::launch_of(device, image, Dtype::f32, style);
  what.count = 1;
  for (std::uint64_t slice = 0; slice < image.slices(); ++slice) {
    what.targets[0] = {w, y + slice * gpu::image_slice * wish.rows * sizeof(float), wish.rows, wish.rows};
    what.x = image.slice(slice);
    what.tokens = image.slice_tokens(slice);
    LW_TRY(device.launch(kernel, wish.format, what, stream));
  }
  return Done{};
}

// A large product that runs beside each of ours.
struct GpuBeside {
  GpuCopies copies;
  GpuInput input;
  const KernelDesc* kernel = nullptr;
};

// A chain of products for each candidate, recorded when it is first timed.
class Chains {
 public:
  /// Enqueues product `index` of a chain.
  using Product = std::function<Outcome(std::size_t candidate, std::uint64_t index, void* stream)>;

  Chains(gpu::Timer& timer, double timing) : timer_(timer), timing_(timing) {}

  /// Microseconds a product. `hot`: all of the first copy.
  Result<double> time(std::size_t candidate, bool hot, const Product& product) {
    if (products_ == 0) LW_TRY(choose_products(product));
    auto found = recorded_.find({candidate, hot});
    if (found == recorded_.end()) {
      LW_ASSIGN(made, record(candidate, hot, products_, product));
      found = recorded_.emplace(std::pair{candidate, hot}, std::move(made)).first;
      LW_TRY(found->second->replay());
    }
    LW_ASSIGN(us, found->second->replay());
    return us / static_cast<double>(products_);
  }

 private:
  Result<std::unique_ptr<gpu::Chain>> record(std::size_t candidate, bool hot, std::uint64_t products,
                                             const Product& product) {
    return timer_.record([candidate, hot, products, product](void* stream) -> Outcome {
      for (std::uint64_t i = 0; i < products; ++i) LW_TRY(product(candidate, hot ? 0 : i, stream));
      return Done{};
    });
  }

  Outcome choose_products(const Product& product) {
    LW_ASSIGN(chain, record(0, false, least_products, product));
    double least = 1e12;
    for (int i = 0; i < 3; ++i) {
      LW_ASSIGN(us, chain->replay());
      least = std::min(least, us / double{least_products});
    }
    const double wanted = std::ceil(timing_ * 1e6 / std::max(least, 1e-3));
    products_ = static_cast<std::uint64_t>(std::clamp(wanted, double{least_products}, double{most_products}));
    return Done{};
  }

  gpu::Timer& timer_;
  double timing_;
  std::uint64_t products_ = 0;
  std::map<std::pair<std::size_t, bool>, std::unique_ptr<gpu::Chain>> recorded_;
};

class GpuWindow final : public tune::Subject {
 public:
  GpuWindow(std::shared_ptr<gpu::Device> device, gpu::Timer& timer, const BaseMatrix& base, const GpuCopies& copies,
            double timing)
      : device_(std::move(device)), base_(base), copies_(copies), chains_(timer, timing) {}

  Outcome prepare(std::uint64_t tokens, Planes planes, std::vector<tune::Candidate> candidates, unsigned threads) {
    candidates_ = std::move(candidates);
    LW_ASSIGN(input, GpuInput::make(device_, base_.wish(), planes, tokens));
    input_ = std::move(input);
    expected_ = base_.expected(*input_.activation, threads);
    got_.resize(tokens * base_.wish().rows);
    return Done{};
  }
  void put_beside(const GpuBeside* beside) { beside_ = beside; }

  Result<Verified> verify(std::size_t candidate) override {
    LW_TRY(device_->fill(input_.y.data(), 0xA5, input_.y.bytes()));
    LW_TRY(product(candidate, 0, nullptr));
    LW_TRY(device_->wait(nullptr));
    LW_TRY(device_->copy(got_.data(), input_.y.data(), got_.size() * sizeof(float)));
    return Verified{got_.size(), base_.count_wrong(expected_, got_.data(), input_.image->tokens())};
  }

  Result<double> time(std::size_t candidate, bool hot) override {
    return chains_.time(candidate, hot, [this](std::size_t which, std::uint64_t index, void* stream) {
      return product(which, index, stream);
    });
  }

 private:
  Outcome product(std::size_t candidate, std::uint64_t index, void* stream) {
    const tune::Candidate& tile = candidates_[candidate];
    std::uint8_t* const y = input_.y.data() + index % outputs * input_.y_bytes;
    // Beside a large one: ours may start while that still runs, where the device can.
    const bool overlaps = beside_ != nullptr && (device_->capabilities() & CAP_SM90) != 0;
    if (beside_ != nullptr) {
      LW_TRY(launch(*device_, *beside_->kernel, {overlaps, {}}, beside_->copies.wish, beside_->copies.at(index),
                    *beside_->input.image, beside_->input.y.data() + index % outputs * beside_->input.y_bytes, stream));
    }
    return launch(*device_, *tile.kernel, {overlaps, tile.setting.tiling}, base_.wish(), copies_.at(index),
                  *input_.image, y, stream);
  }

  std::shared_ptr<gpu::Device> device_;
  const BaseMatrix& base_;
  const GpuCopies& copies_;
  std::vector<tune::Candidate> candidates_;
  GpuInput input_;
  std::vector<float> expected_;
  std::vector<float> got_;
  const GpuBeside* beside_ = nullptr;
  Chains chains_;
};

// Several matrices: a launch each, which may overlap where the device can, or one launch for all.
class GpuTogether final : public tune::Subject {
 public:
  GpuTogether(std::shared_ptr<gpu::Device> device, gpu::Timer& timer, double timing)
      : device_(std::move(device)), chains_of_(timer, timing) {}

  Outcome prepare(const std::vector<MatrixWish>& wishes, Planes planes, std::uint64_t tokens, std::uint64_t walked) {
    std::uint64_t one = 0;
    for (const MatrixWish& wish : wishes) one += stride_of(*device_, wish);
    const std::uint64_t count = std::max<std::uint64_t>(walked / one, 1);
    for (const MatrixWish& wish : wishes) {
      Member member{BaseMatrix(wish), {}, {}, {}};
      LW_ASSIGN(copies, make_copies(device_, member.base, count * stride_of(*device_, wish)));
      member.copies = std::move(copies);
      LW_ASSIGN(input, GpuInput::make(device_, wish, planes, tokens));
      member.input = std::move(input);
      // x is the first one's for all.
      const GpuInput& first = members_.empty() ? member.input : members_.front().input;
      member.expected = member.base.expected(*first.activation, cpu_count());
      members_.push_back(std::move(member));
    }
    const MatrixWish& of = wishes.front();
    LW_ASSIGN(plan, select({of.format, of.rows, of.cols, tokens, planes, of.layout}, device_->info().backend,
                           device_->capabilities()));
    kernel_ = plan.kernel;
    return Done{};
  }

  Result<Verified> verify(std::size_t candidate) override {
    for (const Member& each : members_) LW_TRY(device_->fill(each.input.y.data(), 0xA5, each.input.y.bytes()));
    LW_TRY(product(candidate, 0, nullptr));
    LW_TRY(device_->wait(nullptr));
    Verified verified;
    for (const Member& each : members_) {
      const std::uint64_t tokens = each.input.image->tokens();
      std::vector<float> got(tokens * each.base.wish().rows);
      LW_TRY(device_->copy(got.data(), each.input.y.data(), got.size() * sizeof(float)));
      verified.values += got.size();
      verified.differing += each.base.count_wrong(each.expected, got.data(), tokens);
    }
    return verified;
  }

  Result<double> time(std::size_t candidate, bool hot) override {
    return chains_of_.time(candidate, hot, [this](std::size_t which, std::uint64_t index, void* stream) {
      return product(which, index, stream);
    });
  }

 private:
  struct Member {
    BaseMatrix base;
    GpuCopies copies;
    GpuInput input;
    std::vector<float> expected;
  };

  Outcome product(std::size_t candidate, std::uint64_t index, void* stream) {
    const gpu::Image& x = *members_.front().input.image;
    const auto y_of = [&](const Member& member) {
      return member.input.y.data() + index % outputs * member.input.y_bytes;
    };
    const bool overlaps = (device_->capabilities() & CAP_SM90) != 0;
    if (candidate == 0) {
      for (const Member& each : members_) {
        LW_TRY(
            launch(*device_, *kernel_, {overlaps, {}}, each.base.wish(), each.copies.at(index), x, y_of(each), stream));
      }
      return Done{};
    }
    gpu::Launch what = gpu::launch_of(*device_, x, Dtype::f32, {overlaps, {}});
    for (std::uint64_t slice = 0; slice < x.slices(); ++slice) {
      what.count = 0;
      for (const Member& each : members_) {
        const std::uint64_t rows = each.base.wish().rows;
        what.targets[what.count++] = {each.copies.at(index),
                                      y_of(each) + slice * gpu::image_slice * rows * sizeof(float), rows, rows};
      }
      what.x = x.slice(slice);
      what.tokens = x.slice_tokens(slice);
      LW_TRY(device_->launch(*kernel_, members_.front().base.wish().format, what, stream));
    }
    return Done{};
  }

  std::shared_ptr<gpu::Device> device_;
  Chains chains_of_;
  std::vector<Member> members_;
  const KernelDesc* kernel_ = nullptr;
};

class GpuTuneMatrix final : public TuneMatrix {
 public:
  GpuTuneMatrix(std::shared_ptr<gpu::Device> device, gpu::Timer& timer, const MatrixWish& wish, Planes planes,
                double timing)
      : device_(std::move(device)), timer_(timer), base_(wish), planes_(planes), timing_(timing) {}

  Outcome fill(std::uint64_t walked, const std::optional<BesideWish>& beside, Layout large_layout) {
    beside_wish_ = beside;
    if (beside) {
      const MatrixWish large{beside->format, beside->rows, base_.wish().cols, large_layout, base_.wish().seed + 1};
      const std::uint64_t both = stride_of(*device_, large) + stride_of(*device_, base_.wish());
      const std::uint64_t count = std::max<std::uint64_t>(walked / both, 1);
      LW_ASSIGN(copies, make_copies(device_, BaseMatrix(large), count * stride_of(*device_, large)));
      beside_.copies = std::move(copies);
      walked = count * stride_of(*device_, base_.wish());
    }
    LW_ASSIGN(copies, make_copies(device_, base_, walked));
    copies_ = std::move(copies);
    return Done{};
  }

  Result<std::unique_ptr<tune::Subject>> window(std::uint64_t tokens,
                                                std::vector<tune::Candidate> candidates) override {
    auto made = std::make_unique<GpuWindow>(device_, timer_, base_, copies_, timing_);
    LW_TRY(made->prepare(tokens, planes_, std::move(candidates), cpu_count()));
    if (beside_wish_) {
      const MatrixWish& large = beside_.copies.wish;
      LW_ASSIGN(plan, select({large.format, large.rows, large.cols, tokens, planes_, large.layout},
                             device_->info().backend, device_->capabilities()));
      LW_ASSIGN(input, GpuInput::make(device_, large, planes_, tokens));
      beside_.input = std::move(input);
      beside_.kernel = plan.kernel;
      made->put_beside(&beside_);
    }
    return std::unique_ptr<tune::Subject>(std::move(made));
  }

 private:
  std::shared_ptr<gpu::Device> device_;
  gpu::Timer& timer_;
  BaseMatrix base_;
  Planes planes_;
  double timing_;
  GpuCopies copies_;
  std::optional<BesideWish> beside_wish_;
  GpuBeside beside_;
};

class TuneGpu final : public TuneDevice {
 public:
  TuneGpu(std::shared_ptr<gpu::Device> device, gpu::Timer& timer, const TuneDeviceOptions& options)
      : device_(std::move(device)), timer_(timer), options_(options) {}

  [[nodiscard]] tune::Machine machine() const override {
    return {device_->info().backend, device_->capabilities(), device_.get(), 0, 0};
  }
  [[nodiscard]] Layout usual_layout(const FormatInfo& info) const override {
    const Layout own = device_->preferred_layout();
    if (!has_layout(own, info) || !device_->has_layout(own, info.format)) return Layout::raw;
    const Problem problem{info.format, 16, super_block, 1, Planes::x16, own};
    const KernelDesc* const kernel = find_kernel(problem, device_->info().backend, device_->capabilities());
    return kernel != nullptr && device_->has_kernel(*kernel, info.format) ? own : Layout::raw;
  }
  [[nodiscard]] tune::Limits limits() const override {
    tune::Limits limits;
    // One that computes on the CPU has the CPU's interference.
    if (!device_->info().is_processor) limits.control = control_bound;
    limits.default_is_clock = !device_->info().is_processor;
    return limits;
  }
  Outcome choose_memory(const std::vector<MatrixWish>&) override {
    walked_ = options_.bytes != 0 ? options_.bytes : std::max(least_walked, caches_walked * timer_.cache_bytes());
    walked_ = std::min(walked_, device_->info().memory_bytes / 2);
    return Done{};
  }
  Result<std::unique_ptr<TuneMatrix>> matrix(const MatrixWish& wish, Planes planes,
                                             const std::optional<BesideWish>& beside) override {
    auto made = std::make_unique<GpuTuneMatrix>(device_, timer_, wish, planes, timing());
    const Layout large = beside ? usual_layout(format_info(beside->format)) : Layout::raw;
    LW_TRY(made->fill(walked_, beside, large));
    return std::unique_ptr<TuneMatrix>(std::move(made));
  }
  Result<std::unique_ptr<tune::Subject>> together(const std::vector<MatrixWish>& wishes, Planes planes,
                                                  std::uint64_t tokens) override {
    auto made = std::make_unique<GpuTogether>(device_, timer_, timing());
    LW_TRY(made->prepare(wishes, planes, tokens, walked_));
    return std::unique_ptr<tune::Subject>(std::move(made));
  }
  [[nodiscard]] std::string about() const override {
    return fmt::format("{}, {}", device_->info().name, device_->info().about);
  }

 private:
  [[nodiscard]] double timing() const {
    return options_.timing_seconds != 0 ? options_.timing_seconds : usual_timing_seconds;
  }

  std::shared_ptr<gpu::Device> device_;
  gpu::Timer& timer_;
  TuneDeviceOptions options_;
  std::uint64_t walked_ = least_walked;
};

}  // namespace
}  // namespace tuning_on_gpu

std::unique_ptr<TuneDevice> make_tune_gpu(std::shared_ptr<gpu::Device> device, gpu::Timer& timer,
                                          const TuneDeviceOptions& options) {
  return std::make_unique<tuning_on_gpu::TuneGpu>(std::move(device), timer, options);
}

}  // namespace lanewise::program
