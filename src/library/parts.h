// How a call on a device handle is cut into parts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/parts.h"
#include "library/handles.h"

namespace lanewise::edge {

inline std::uint32_t count_parts(const lw_device& device, std::uint64_t rows, std::uint64_t bytes,
                                 std::uint64_t outputs) {
  const PartSizes& sizes = device.parallel_for != nullptr ? callers_parts : sleepers_parts;
  return lanewise::count_parts(rows, bytes, outputs, device.most_parts(), sizes);
}

/// Parts of one product, by its setting.
inline std::uint32_t count_parts(const lw_device& device, const MatrixView& w, std::uint64_t outputs,
                                 const Setting& setting) {
  if (setting.parts == 0) return count_parts(device, w.rows, w.bytes(), outputs);
  if (device.parallel_for == nullptr) return lanewise::count_parts(w.rows, w.bytes(), outputs, setting.parts);
  // Who brings threads was promised no more tasks than those.
  return lanewise::count_parts(w.rows, w.bytes(), outputs, std::min(setting.parts, device.most_parts()), callers_parts);
}

}  // namespace lanewise::edge
