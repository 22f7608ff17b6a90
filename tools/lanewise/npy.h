// NumPy's .npy files, as far as vectors in and out of the program need them: little-endian fp32 and fp16 in C order.
// The format: numpy.lib.format, versions 1.0 to 3.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "arithmetic/activation.h"
#include "base/status.h"
#include "output.h"

namespace lanewise::program {

/// What a header says.
struct NpyHeader {
  Dtype dtype = Dtype::f32;
  std::vector<std::uint64_t> shape;
  std::uint64_t data_offset = 0;  ///< byte of the file at which the elements start
  std::uint64_t elements = 1;     ///< product of the shape

  [[nodiscard]] std::uint64_t data_bytes() const { return elements * dtype_bytes(dtype); }
};

/// Any byte string gives a header whose data lies exactly in `file`, or an error with the byte at which it goes wrong.
/// Errors: LW_ERROR_ARGUMENT (not a .npy file, a header that isn't one) and LW_ERROR_UNSUPPORTED (another type, byte
/// order or memory order), LW_ERROR_FILE_TRUNCATED.
Result<NpyHeader> parse_npy(std::span<const std::uint8_t> file);

/// "(3, 640)", as NumPy prints a shape.
std::string shape_text(std::span<const std::uint64_t> shape);

/// A version 1.0 header for fp32 in C order, padded so that the data starts at a multiple of 64.
std::string npy_header(std::span<const std::uint64_t> shape);

}  // namespace lanewise::program
