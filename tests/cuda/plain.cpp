#include "cuda/plain.h"

#include "backends/cuda/grid_word.cuh"
// The order counts: where grids lie, the primitives, the formats in terms of them, the kernels.
#define LW_GRID(name, index) ::lanewise::cuda::grid_word(index)
#include "backends/cuda/primitives.cuh"
//
#include "formats/traits.h"
//
#include "backends/cuda/dequantize.cuh"
#include "backends/cuda/plain_launch.cuh"
#include "backends/cuda/route.cuh"

namespace lanewise::test {
namespace {

template <class T>
struct GridOf;
#define LW_FORMAT(name, NAME, id, elements, bytes, group, dgroup, bits, kind, min, grid) \
  LW_GRID_TYPE_##grid(NAME) template <>                                                  \
  struct GridOf<Traits<Format::NAME>> {                                                  \
    using Type = NAME##Grid;                                                             \
  };
#include "formats/formats.def"
#undef LW_FORMAT

}  // namespace

int launch_plain(Format format, const cuda::Launch& launch) {
  return with_format(format,
                     [&]<class T>(T) { return lanewise::launch_plain<T, typename GridOf<T>::Type>(launch, nullptr); });
}

int launch_dequantize(Format format, const std::uint8_t* w, std::uint64_t elements, float* out) {
  return with_format(
      format, [&]<class T>(T) { return dequantize::launch<T, typename GridOf<T>::Type>(w, elements, out, nullptr); });
}

int launch_route(const cuda::Routing& routing) { return cuda::start_route(routing, false, nullptr); }

}  // namespace lanewise::test
