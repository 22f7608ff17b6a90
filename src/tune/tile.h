// A kernel and its setting as one word: "avx512:ahead=8192:parts=2", "mma:tile=2/1/8/4" (docs/tuning.md).
#pragma once

#include <string>
#include <string_view>

#include "backends/gpu/gpu.h"
#include "kernels/kernel.h"
#include "kernels/tuning.h"

namespace lanewise::tune {

struct TileName {
  std::string kernel;  ///< the last part of its name
  Setting setting;
};

std::string tile_text(std::string_view kernel, const Setting& setting);
/// Errors (LW_ERROR_ARGUMENT) say what is wrong with the word.
Result<TileName> parse_tile(std::string_view text);

/// Whether that kernel can be set so; `gpu` is null for the CPU. Errors: LW_ERROR_UNSUPPORTED, with the reason.
Outcome check_setting(const KernelDesc& kernel, const Setting& setting, const gpu::Device* gpu);

/// The kernel of the backend called so for a format in a layout, if the device (null: the CPU) can run it. Errors:
/// LW_ERROR_NOT_FOUND, LW_ERROR_UNSUPPORTED.
Result<const KernelDesc*> kernel_called(std::string_view name, Format format, Layout layout, std::string_view backend,
                                        std::uint32_t capabilities, const gpu::Device* gpu);

}  // namespace lanewise::tune
