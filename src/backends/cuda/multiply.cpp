#include <algorithm>

#include "backends/cuda/cuda.h"

namespace lanewise::cuda {

Outcome multiply(Device& device, const KernelDesc& kernel, std::span<const Operand> operands, const Image& x,
                 bool overlapped, void* stream) {
  Launch what;
  for (const Operand& operand : operands) {
    if (operand.w.rows == 0) continue;
    what.targets[what.count++] = {operand.w.data, operand.y.data, operand.w.rows, operand.y.stride};
  }
  if (what.count == 0 || x.tokens() == 0) return Done{};
  const MatrixView& first = operands.front().w;
  LW_TRY(x.prepare(first.info(), overlapped, stream));
  what.planes = plane_count(x.planes());
  what.cols = x.cols();
  what.blocks = x.blocks();
  what.dtype = static_cast<std::uint32_t>(operands.front().y.dtype);
  what.multiprocessors = device.info().multiprocessors;
  what.shared_bytes = device.info().shared_bytes;
  what.overlapped = overlapped;
  for (std::uint64_t slice = 0; slice < x.slices(); ++slice) {
    what.x = x.slice(slice);
    what.tokens = x.slice_tokens(slice);
    LW_TRY(device.launch(kernel, first.format, what, stream));
    for (std::uint32_t i = 0; i < what.count; ++i) {
      Target& target = what.targets[i];
      target.y =
          static_cast<std::uint8_t*>(target.y) + image_slice * target.y_stride * dtype_bytes(operands.front().y.dtype);
    }
  }
  return Done{};
}

}  // namespace lanewise::cuda
