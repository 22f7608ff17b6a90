// What the host knows of the `frag` layout without its units.
#include "backends/cuda/frag_plan.h"
#include "backends/cuda/units.h"
#include "formats/formats.h"

namespace lanewise::cuda {

std::uint64_t frag_bytes(Format format, std::uint64_t rows, std::uint64_t cols) {
  return frag_bytes(rows, row_bytes(format_info(format), cols));
}

}  // namespace lanewise::cuda
