// What the units that CMake makes of the families' templates export (cmake/LanewiseCuda.cmake), by format; null where
// this build has no such unit.
//   simt  launch_simt_FORMAT, launch_dequantize_FORMAT           every format, GGUF's own bytes
//   frag  launch_frag_FORMAT, pack_frag_FORMAT, unpack_frag_FORMAT   formats of codes, layout frag
#pragma once

#include <cstdint>

#include "backends/cuda/launch.h"
#include "layout/layout.h"

namespace lanewise::cuda {

Launcher launchers_simt(Format format);
Launcher launchers_frag(Format format);

/// `elements` weights (whole blocks) to fp32, all in device memory; a cudaError_t.
using Dequantizer = int (*)(const std::uint8_t* w, std::uint64_t elements, float* out, void* stream);
Dequantizer find_dequantizer(Format format);

/// A matrix from GGUF's bytes to a layout or back, all in device memory; a cudaError_t.
using Packer = int (*)(const std::uint8_t* from, std::uint64_t rows, std::uint64_t cols, std::uint8_t* to,
                       void* stream);
struct Packers {
  Packer pack = nullptr;
  Packer unpack = nullptr;
};
Packers find_packers(Layout layout, Format format);

/// Bytes of a matrix in layout frag.
std::uint64_t frag_bytes(Format format, std::uint64_t rows, std::uint64_t cols);

}  // namespace lanewise::cuda
