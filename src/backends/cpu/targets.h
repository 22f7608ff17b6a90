// The instruction sets of targets.def, whether this build has kernels for them or not.
#pragma once

#include <cstdint>

namespace lanewise {

enum class Target : std::uint8_t {
#define LW_TARGET_ROW(target, architecture, floats, flags) target,
#include "backends/cpu/targets.def"
#undef LW_TARGET_ROW
};

}  // namespace lanewise
