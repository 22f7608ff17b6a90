#include <algorithm>

#include "backends/gpu/gpu.h"

namespace lanewise::gpu {

Launch launch_of(const Device& device, const Image& x, Dtype y, const LaunchStyle& style) {
  Launch what;
  what.planes = plane_count(x.planes());
  what.cols = x.cols();
  what.blocks = x.blocks();
  what.dtype = static_cast<std::uint32_t>(y);
  what.multiprocessors = device.info().multiprocessors;
  what.shared_bytes = device.info().shared_bytes;
  what.overlapped = style.overlapped;
  std::ranges::copy(style.tiling, what.tile);
  return what;
}

namespace {

void move_outputs(Launch& what, std::uint64_t vectors, Dtype dtype) {
  for (std::uint32_t i = 0; i < what.count; ++i) {
    Target& target = what.targets[i];
    target.y = static_cast<std::uint8_t*>(target.y) + vectors * target.y_stride * dtype_bytes(dtype);
  }
}

}  // namespace

Outcome multiply(Device& device, const KernelDesc& kernel, std::span<const Operand> operands, const Image& x,
                 const LaunchStyle& style, void* stream) {
  const Dtype dtype = operands.front().y.dtype;
  Launch what = launch_of(device, x, dtype, style);
  for (const Operand& operand : operands) {
    if (operand.w.rows == 0) continue;
    what.targets[what.count++] = {operand.w.data, operand.y.data, operand.w.rows, operand.y.stride};
  }
  if (what.count == 0 || x.tokens() == 0) return Done{};
  const MatrixView& first = operands.front().w;
  LW_TRY(x.prepare(first.info(), style.overlapped, stream));
  for (std::uint64_t slice = 0; slice < x.slices(); ++slice) {
    what.x = x.slice(slice);
    what.tokens = x.slice_tokens(slice);
    LW_TRY(device.launch(kernel, first.format, what, stream));
    move_outputs(what, image_slice, dtype);
  }
  return Done{};
}

Outcome multiply_experts(Device& device, const KernelDesc& kernel, std::span<const Operand> operands,
                         const Routing& routing, const Image& x, const LaunchStyle& style, void* stream) {
  const Dtype dtype = operands.front().y.dtype;
  Launch what = launch_of(device, x, dtype, style);
  for (const Operand& operand : operands) {
    what.targets[what.count++] = {nullptr, operand.y.data, operand.w.rows, operand.y.stride};
  }
  const MatrixView& first = operands.front().w;
  LW_TRY(x.prepare(first.info(), style.overlapped, stream));
  Routing routed = routing;
  routed.routes = x.routes();
  LW_TRY(device.route(routed, style.overlapped, stream));
  x.note_routes();
  what.used = routing.used;
  for (std::uint64_t slice = 0; slice < x.slices(); ++slice) {
    what.x = x.slice(slice);
    what.tokens = x.slice_tokens(slice);
    what.route = x.routes() + slice;
    what.ids = routing.ids + slice * image_slice * routing.used;
    LW_TRY(device.launch(kernel, first.format, what, stream));
    move_outputs(what, std::uint64_t{image_slice} * routing.used, dtype);
  }
  return Done{};
}

}  // namespace lanewise::gpu
