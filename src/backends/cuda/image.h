// The image of x under this backend's name.
#pragma once

#include "backends/gpu/image.h"

namespace lanewise::cuda {

using gpu::image_bytes;
using gpu::image_column;
using gpu::image_digit;
using gpu::image_slice;
using gpu::image_slice_at;
using gpu::image_slots;
using gpu::ImageOffsets;

}  // namespace lanewise::cuda
