// The table of kernels and the units that the build made for them.
#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

#include "backends/cuda/cuda.h"
#include "backends/cuda/units.h"

namespace lanewise {
namespace {

constexpr std::array table = {
#define LW_KERNEL(name, formats, layout, rows, lanes, unroll, split_k, needs, launch)                      \
  KernelDesc{"cuda", #name,   FormatClass::formats,    Layout::layout, Tile{rows, lanes, unroll, split_k}, \
             needs,  nullptr, cuda::launchers_##launch},
#include "backends/cuda/kernels.def"
#undef LW_KERNEL
};

}  // namespace

std::span<const KernelDesc> cuda_kernels() { return table; }

namespace cuda {

std::uint32_t capabilities(std::uint32_t major, std::uint32_t minor) {
  const std::uint32_t version = 10 * major + minor;
  std::uint32_t found = CAP_NONE;
  if (version >= 75) found |= CAP_SM75;
  if (version >= 80) found |= CAP_SM80;
  if (version >= 90) found |= CAP_SM90;
  return found;
}

bool code_runs_on(std::string_view architectures, std::uint32_t major, std::uint32_t minor) {
  const std::uint32_t device = 10 * major + minor;
  while (!architectures.empty()) {
    const std::size_t end = std::min(architectures.find_first_of(",;"), architectures.size());
    std::string_view entry = architectures.substr(0, end);
    architectures.remove_prefix(std::min(end + 1, architectures.size()));
    while (entry.starts_with(' ')) entry.remove_prefix(1);
    std::uint32_t version = 0;
    const auto read = std::from_chars(entry.data(), entry.data() + entry.size(), version);
    if (read.ec != std::errc{}) return true;  // "all", "native": the driver will say
    const std::string_view kind = entry.substr(static_cast<std::size_t>(read.ptr - entry.data()));
    // Machine code runs on later minor versions, PTX on all later ones; what is specific to an architecture (90a)
    // there.
    const bool specific = kind.starts_with('a');
    const bool machine_code = device >= version && device / 10 == version / 10;
    if (specific ? device == version : machine_code || (device >= version && !kind.ends_with("-real"))) return true;
  }
  return false;
}

// The units' functions; a family of which this build has none finds nothing.

#define LW_CUDA_UNIT(name, NAME)                            \
  int launch_simt_##name(const Launch& what, void* stream); \
  int launch_dequantize_##name(const std::uint8_t* w, std::uint64_t elements, float* out, void* stream);
#include "backends/cuda/simt_units.inc"
#undef LW_CUDA_UNIT

Launcher launchers_simt([[maybe_unused]] Format format) {
#define LW_CUDA_UNIT(name, NAME) \
  if (format == Format::NAME) return launch_simt_##name;
#include "backends/cuda/simt_units.inc"
#undef LW_CUDA_UNIT
  return nullptr;
}

Dequantizer find_dequantizer([[maybe_unused]] Format format) {
#define LW_CUDA_UNIT(name, NAME) \
  if (format == Format::NAME) return launch_dequantize_##name;
#include "backends/cuda/simt_units.inc"
#undef LW_CUDA_UNIT
  return nullptr;
}

#define LW_CUDA_UNIT(name, NAME)                                                                             \
  int launch_frag_##name(const Launch& what, void* stream);                                                  \
  int pack_frag_##name(const std::uint8_t* from, std::uint64_t rows, std::uint64_t cols, std::uint8_t* to,   \
                       void* stream);                                                                        \
  int unpack_frag_##name(const std::uint8_t* from, std::uint64_t rows, std::uint64_t cols, std::uint8_t* to, \
                         void* stream);
#include "backends/cuda/frag_units.inc"
#undef LW_CUDA_UNIT

Launcher launchers_frag([[maybe_unused]] Format format) {
#define LW_CUDA_UNIT(name, NAME) \
  if (format == Format::NAME) return launch_frag_##name;
#include "backends/cuda/frag_units.inc"
#undef LW_CUDA_UNIT
  return nullptr;
}

namespace {

Packers frag_packers([[maybe_unused]] Format format) {
#define LW_CUDA_UNIT(name, NAME) \
  if (format == Format::NAME) return {pack_frag_##name, unpack_frag_##name};
#include "backends/cuda/frag_units.inc"
#undef LW_CUDA_UNIT
  return {};
}

}  // namespace

Packers find_packers(Layout layout, Format format) { return layout == Layout::frag ? frag_packers(format) : Packers{}; }

bool has_layout_units(Layout layout, Format format) {
  return layout == Layout::raw || find_packers(layout, format).pack != nullptr;
}

std::uint64_t layout_bytes(Layout layout, const MatrixView& shape) {
  if (layout == Layout::frag) return frag_bytes(shape.format, shape.rows, shape.cols);
  return layout == Layout::raw ? shape.bytes() : 0;
}

}  // namespace cuda
}  // namespace lanewise
