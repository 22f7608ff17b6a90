// The kernels of instruction sets that few processors have, with an emulation of what those add: AMX's tiles, on a
// processor that has AVX-512.
#pragma once

#include <span>

#include "kernels/kernel.h"

namespace lanewise::test {

/// Rows as those of a kernels.def; none where this build has no emulation.
std::span<const KernelDesc> emulated_kernels();

}  // namespace lanewise::test
