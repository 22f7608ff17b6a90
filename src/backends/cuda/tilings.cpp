// Which numbers of Launch::tile each family takes, and which of them verification runs.
#include <algorithm>
#include <array>

#include "backends/cuda/cuda.h"
#include "backends/cuda/units.h"

namespace lanewise::cuda {
namespace {

using gpu::Tiling;

// Groups of warps, super-blocks a copy, copies on their way, tiles whose sums meet at once. More than fits is less.
constexpr std::array<Tiling, 8> frag_tilings = {{
    {1, 1, 2, 1},
    {1, 8, 8, 16},
    {1, 2, 4, 2},
    {2, 1, 8, 4},
    {2, 3, 2, 16},
    {3, 1, 2, 1},
    {3, 2, 3, 3},
    {3, 8, 8, 4},
}};

// Lanes that share an eighth of a row.
constexpr std::array<Tiling, 2> simt_tilings = {{{4, 0, 0, 0}, {16, 0, 0, 0}}};

// Splits of K, stages, blocks a multiprocessor.
constexpr std::array<Tiling, 5> floats_tilings = {
    {{1, 2, 1, 0}, {2, 3, 2, 0}, {4, 4, 1, 0}, {8, 2, 1, 0}, {8, 4, 2, 0}}};

bool within(std::uint32_t value, std::initializer_list<std::uint32_t> values) {
  return std::ranges::find(values, value) != values.end();
}

}  // namespace

std::span<const Tiling> tilings(const KernelDesc& kernel) {
  if (kernel.launch_on_cuda == &launchers_frag) return frag_tilings;
  if (kernel.launch_on_cuda != &launchers_simt) return {};
  if (kernel.formats == FormatClass::FLOATS) return floats_tilings;
  return simt_tilings;
}

bool takes_tiling(const KernelDesc& kernel, const Tiling& t) {
  if (kernel.launch_on_cuda == &launchers_frag) return true;
  if (kernel.launch_on_cuda != &launchers_simt) return false;
  if (kernel.formats == FormatClass::FLOATS) {
    return within(t[0], {0, 1, 2, 4, 8}) && within(t[1], {0, 2, 3, 4}) && t[2] <= 8 && t[3] == 0;
  }
  return within(t[0], {0, 4, 16}) && t[1] == 0 && t[2] == 0 && t[3] == 0;
}

}  // namespace lanewise::cuda
