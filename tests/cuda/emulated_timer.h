// A clock of the emulated device: every launch takes the time that a test gave its kind, so that what is made of times
// can be compared with what it must be.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "backends/gpu/timer.h"
#include "cuda/emulated_device.h"

namespace lanewise::test {

class EmulatedTimer final : public gpu::Timer {
 public:
  /// Microseconds of one launch: plain, overlapped.
  struct Costs {
    double product[2] = {4, 3};
    double read[2] = {2, 1};
    double image = 0.5;
    double floats = 0.25;
  };

  explicit EmulatedTimer(std::shared_ptr<EmulatedDevice> device) : device_(std::move(device)) {}

  [[nodiscard]] std::uint64_t cache_bytes() const override { return cache; }
  Result<std::unique_ptr<gpu::Chain>> record(const std::function<Outcome(void* stream)>& enqueue) override {
    ++recorded;
    return std::unique_ptr<gpu::Chain>(new Replayed(*this, enqueue));
  }
  Outcome read(const std::uint8_t* from, std::uint64_t bytes, gpu::ReadShape shape, bool overlapped, void*) override {
    if (!device_->owns(from) || !device_->owns(from + bytes - 1)) {
      return make_error(LW_ERROR_DEVICE, "read past the copies");
    }
    // Of all shapes one is the fastest.
    const bool best = shape.blocks == 4 && shape.unroll == 4;
    read_us_ += costs.read[overlapped ? 1 : 0] * (best ? 1 : 3);
    return Done{};
  }

  Costs costs;
  /// Where it is set, what a product's launch takes in place of `costs`.
  std::function<double(const EmulatedDevice::Launched& launch)> product_us{};
  std::uint64_t cache = 0;
  std::uint64_t recorded = 0;

 private:
  class Replayed final : public gpu::Chain {
   public:
    Replayed(EmulatedTimer& timer, std::function<Outcome(void* stream)> enqueue)
        : timer_(timer), enqueue_(std::move(enqueue)) {}
    Result<double> replay() override { return timer_.took(enqueue_); }

   private:
    EmulatedTimer& timer_;
    std::function<Outcome(void* stream)> enqueue_;
  };

  Result<double> took(const std::function<Outcome(void* stream)>& enqueue) {
    device_->launches.clear();
    device_->floats.clear();
    device_->images = 0;
    read_us_ = 0;
    LW_TRY(enqueue(this));
    double us = read_us_ + costs.image * static_cast<double>(device_->images) +
                costs.floats * static_cast<double>(device_->floats.size());
    for (const auto& launch : device_->launches) {
      us += product_us ? product_us(launch) : costs.product[launch.what.overlapped ? 1 : 0];
    }
    return us;
  }

  std::shared_ptr<EmulatedDevice> device_;
  double read_us_ = 0;
};

}  // namespace lanewise::test
