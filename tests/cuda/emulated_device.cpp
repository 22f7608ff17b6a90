#include "cuda/emulated_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "arithmetic/canonical.h"
#include "backends/cuda/activation.cuh"

namespace lanewise::test {

Outcome EmulatedDevice::make_image(const gpu::ImageTask& task, void*) {
  EXPECT_TRUE(owns(task.x) && owns(task.image));
  ++images;
  const auto grid = static_cast<std::uint32_t>(cuda::image_grid(task));
  cuda::emulator::launch(grid, 1, cuda::image_threads, sizeof(std::uint32_t), [&] {
    if (task.planes == 1) cuda::image_kernel<1>(task);
    if (task.planes == 2) cuda::image_kernel<2>(task);
    if (task.planes == 3) cuda::image_kernel<3>(task);
  });
  return Done{};
}

Outcome EmulatedDevice::make_floats(const gpu::ImageTask& task, std::uint32_t index, void*) {
  floats.push_back(index);
  const auto grid = static_cast<std::uint32_t>(cuda::floats_grid(task));
  cuda::emulator::launch(grid, 1, cuda::image_threads, 0, [&] { cuda::floats_kernel(task, index); });
  return Done{};
}

Outcome EmulatedDevice::route(const gpu::Routing& routing, bool, void*) {
  EXPECT_TRUE(owns(routing.ids) && owns(routing.routes));
  const std::uint64_t all = routing.tokens * routing.used;
  std::uint32_t bad = 0;
  for (std::uint64_t i = 0; i < all; ++i) {
    if (routing.ids[i] < 0 || static_cast<std::uint32_t>(routing.ids[i]) >= routing.experts) bad = 1;
  }
  for (std::uint64_t slice = 0; slice * cuda::image_slice < routing.tokens; ++slice) {
    cuda::Route& route = routing.routes[slice];
    route.bad = bad;
    route.count = 0;
    const std::uint64_t begin = slice * cuda::image_slice * routing.used;
    const std::uint64_t end = std::min(begin + cuda::image_slice * routing.used, all);
    for (std::uint32_t expert = 0; expert < routing.experts && bad == 0; ++expert) {
      if (std::count(routing.ids + begin, routing.ids + end, static_cast<std::int32_t>(expert)) == 0) continue;
      route.experts[route.count] = static_cast<std::int32_t>(expert);
      for (std::uint32_t t = 0; t < routing.targets; ++t) route.w[t][route.count] = routing.w[t][expert];
      ++route.count;
    }
  }
  return Done{};
}

Outcome EmulatedDevice::launch(const KernelDesc& kernel, Format format, const cuda::Launch& what, void* stream) {
  launches.push_back({std::string(kernel.name), format, what, stream});
  EXPECT_GE(what.count, 1u);
  EXPECT_LE(what.count, cuda::most_targets);
  EXPECT_GE(what.tokens, 1u);
  EXPECT_LE(what.tokens, cuda::image_slice);
  EXPECT_TRUE(owns(what.x));
  const std::uint32_t slots = cuda::image_slots(what.tokens);
  const cuda::ImageOffsets at(slots, what.planes, what.blocks);
  const std::uint64_t padded = std::uint64_t{what.blocks} * super_block;
  // x as the image has it; what it is made of again is what the image holds.
  LW_ASSIGN(activation, Activation::create(static_cast<Planes>(what.planes), what.tokens, what.cols));
  LW_TRY(activation->set({what.x + at.x, Dtype::f32, what.tokens, what.cols, padded}));
  const FormatInfo& info = format_info(format);
  if (info.is_float()) {
    const Image image = format == Format::F16 ? Image::xq_f16 : format == Format::BF16 ? Image::xq_bf16 : Image::xq_f32;
    const std::uint64_t index = format == Format::F16 ? 0 : format == Format::BF16 ? 1 : 2;
    for (std::uint32_t t = 0; t < what.tokens; ++t) {
      const std::uint8_t* const xq = what.x + at.xq + (index * slots + t) * padded * sizeof(float);
      EXPECT_EQ(std::memcmp(xq, activation->floats(image, t).values, padded * sizeof(float)), 0) << "xq isn't made";
    }
  }
  for (std::uint32_t i = 0; i < what.count; ++i) {
    const cuda::Target& target = what.targets[i];
    EXPECT_TRUE(owns(target.y));
    OutputView y{target.y, static_cast<Dtype>(what.dtype), target.y_stride};
    if (what.route != nullptr) {
      EXPECT_TRUE(owns(what.route) && owns(what.ids));
      for (std::uint32_t e = 0; e < what.route->count && what.route->bad == 0; ++e) {
        std::vector<OutputSlot> slots_of;
        for (std::uint64_t p = 0; p < std::uint64_t{what.tokens} * what.used; ++p) {
          if (what.ids[p] == what.route->experts[e]) slots_of.push_back({p / what.used, p});
        }
        EXPECT_TRUE(owns(what.route->w[i][e]) && !slots_of.empty());
        y.slots = slots_of.data();
        y.slot_count = slots_of.size();
        gemv_scalar({format, target.rows, what.cols, what.route->w[i][e]}, *activation, y, 0, target.rows);
      }
      continue;
    }
    EXPECT_TRUE(owns(target.w));
    gemv_scalar({format, target.rows, what.cols, target.w}, *activation, y, 0, target.rows);
    for (std::uint32_t t = 0; t < what.tokens; ++t) {
      std::uint32_t poisoned = 0;
      std::memcpy(&poisoned, what.x + at.poisoned + t * 4, 4);
      if (poisoned == 0) continue;
      for (std::uint64_t row = 0; row < target.rows; ++row) {
        store_output(y, t, row, std::bit_cast<float>(canonical_nan));
      }
    }
  }
  if (after_launch) after_launch(what);
  return Done{};
}

}  // namespace lanewise::test
