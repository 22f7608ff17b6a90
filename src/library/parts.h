// How a call on a device handle is cut into parts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/parts.h"
#include "library/handles.h"

namespace lanewise::edge {

inline std::uint32_t count_parts(const lw_device& device, std::uint64_t rows, std::uint64_t bytes,
                                 std::uint64_t outputs) {
  return lanewise::count_parts(rows, bytes, outputs, device.most_parts(), device.part_sizes);
}

/// Parts of one product, by its setting.
inline std::uint32_t count_parts(const lw_device& device, const MatrixView& w, std::uint64_t outputs,
                                 const Setting& setting) {
  if (setting.parts == 0) return count_parts(device, w.rows, w.bytes(), outputs);
  // Who brings threads was promised no more tasks than those.
  const std::uint32_t most =
      device.parallel_for != nullptr ? std::min(setting.parts, device.most_parts()) : setting.parts;
  return lanewise::count_parts(w.rows, w.bytes(), outputs, most, device.part_sizes);
}

}  // namespace lanewise::edge
