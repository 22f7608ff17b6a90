#include "tune_device.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "arithmetic/scalar.h"
#include "backends/cpu/pool.h"
#include "harness/fill.h"

namespace lanewise::program {
namespace {

// The timer that a GPU is measured by, beside it.
class OwnedGpu final : public TuneDevice {
 public:
  OwnedGpu(std::shared_ptr<gpu::Device> device, std::unique_ptr<gpu::Timer> timer, const TuneDeviceOptions& options)
      : timer_(std::move(timer)), device_(make_tune_gpu(std::move(device), *timer_, options)) {}

  [[nodiscard]] tune::Machine machine() const override { return device_->machine(); }
  [[nodiscard]] Layout usual_layout(const FormatInfo& info) const override { return device_->usual_layout(info); }
  [[nodiscard]] tune::Limits limits() const override { return device_->limits(); }
  Outcome choose_memory(const std::vector<MatrixWish>& wishes) override { return device_->choose_memory(wishes); }
  Result<std::unique_ptr<TuneMatrix>> matrix(const MatrixWish& wish, Planes planes,
                                             const std::optional<BesideWish>& beside) override {
    return device_->matrix(wish, planes, beside);
  }
  Result<std::unique_ptr<tune::Subject>> together(const std::vector<MatrixWish>& wishes, Planes planes,
                                                  std::uint64_t tokens) override {
    return device_->together(wishes, planes, tokens);
  }
  [[nodiscard]] std::string about() const override { return device_->about(); }

 private:
  std::unique_ptr<gpu::Timer> timer_;
  std::unique_ptr<TuneDevice> device_;
};

}  // namespace

BaseMatrix::BaseMatrix(const MatrixWish& wish)
    : wish_(wish), base_(std::min(wish.rows, base_rows)), bytes_(base_ * wish.view().row_bytes()) {
  fill_weights(wish.format, wish.cols, Fill::random, wish.seed, 0, base_, bytes_.data());
}

void BaseMatrix::copy_rows(std::uint64_t begin, std::uint64_t end, std::uint8_t* out) const {
  const std::uint64_t row_bytes = wish_.view().row_bytes();
  while (begin < end) {
    const std::uint64_t first = begin % base_;
    const std::uint64_t count = std::min(base_ - first, end - begin);
    std::memcpy(out, bytes_.data() + first * row_bytes, count * row_bytes);
    out += count * row_bytes;
    begin += count;
  }
}

std::vector<float> BaseMatrix::expected(const Activation& x, unsigned threads) const {
  std::vector<float> y(x.tokens() * base_);
  const MatrixView w{wish_.format, base_, wish_.cols, bytes_.data()};
  struct Call {
    const MatrixView& w;
    const Activation& x;
    OutputView y;
  } call{w, x, {y.data(), Dtype::f32, base_}};
  Pool(threads).run(
      static_cast<std::uint32_t>(base_),
      [](void* context, std::uint32_t row) {
        const Call& mine = *static_cast<const Call*>(context);
        gemv_scalar(mine.w, mine.x, mine.y, row, row + 1);
      },
      &call);
  return y;
}

std::uint64_t BaseMatrix::count_wrong(const std::vector<float>& expected, const float* y, std::uint64_t tokens) const {
  std::uint64_t wrong = 0;
  for (std::uint64_t token = 0; token < tokens; ++token) {
    const float* const right = expected.data() + token * base_;
    const float* const got = y + token * wish_.rows;
    for (std::uint64_t row = 0; row < wish_.rows; row += base_) {
      const std::uint64_t count = std::min(base_, wish_.rows - row);
      if (std::memcmp(right, got + row, count * sizeof(float)) == 0) continue;
      for (std::uint64_t i = 0; i < count; ++i) {
        if (std::memcmp(right + i, got + row + i, sizeof(float)) != 0) ++wrong;
      }
    }
  }
  return wrong;
}

Result<std::unique_ptr<Activation>> make_activation(const MatrixWish& wish, Planes planes, std::uint64_t tokens,
                                                    std::vector<float>& x) {
  x.resize(tokens * wish.cols);
  fill_x(wish.format, tokens, wish.cols, Fill::random, wish.seed, Dtype::f32, x.data());
  LW_ASSIGN(made, Activation::create(planes, tokens, wish.cols));
  LW_TRY(made->set({x.data(), Dtype::f32, tokens, wish.cols, wish.cols}));
  return std::move(made);
}

void TuneDeviceOptions::declare(Arguments& arguments) {
  arguments.option("--timing", &timing_seconds, "Seconds that one time takes at least (default: 0.006; on a GPU 0.001)")
      .within(0.00001, 1.0)
      .type_name("S");
  arguments.number("--bytes", &bytes, 1, std::uint64_t{1} << 40U,
                   "Bytes of copies of W (default: four last caches, at least 1 GiB)");
}

Result<std::unique_ptr<TuneDevice>> open_tune_device(const DeviceOptions& device, const TuneDeviceOptions& options) {
  if (!parse_gpu_name(device.device)) return make_tune_cpu(thread_count(device), options);
  LW_ASSIGN(gpu, open_gpu(device.device));
  LW_ASSIGN(timer, make_gpu_timer(gpu));
  return std::unique_ptr<TuneDevice>(new OwnedGpu(std::move(gpu), std::move(timer), options));
}

}  // namespace lanewise::program
