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

// What tuning tries of each number.
constexpr std::array<std::uint32_t, 3> one_to_three{1, 2, 3};
constexpr std::array<std::uint32_t, 6> chunks{1, 2, 3, 4, 6, 8};
constexpr std::array<std::uint32_t, 5> ring_stages{2, 3, 4, 6, 8};
constexpr std::array<std::uint32_t, 5> batches{1, 2, 4, 8, 16};
constexpr std::array<std::uint32_t, 2> simt_lanes{4, 16};
constexpr std::array<std::uint32_t, 4> float_splits{1, 2, 4, 8};
constexpr std::array<std::uint32_t, 3> float_stages{2, 3, 4};
constexpr std::array<std::uint32_t, 4> float_blocks{1, 2, 4, 8};
constexpr std::array<gpu::TilingAxis, 4> frag_axes{
    {{"groups", one_to_three}, {"chunk", chunks}, {"stages", ring_stages}, {"batch", batches}}};
constexpr std::array<gpu::TilingAxis, 1> simt_axes{{{"lanes", simt_lanes}}};
constexpr std::array<gpu::TilingAxis, 3> floats_axes{
    {{"splits", float_splits}, {"stages", float_stages}, {"blocks", float_blocks}}};

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

std::span<const gpu::TilingAxis> tiling_axes(const KernelDesc& kernel) {
  if (kernel.launch_on_cuda == &launchers_frag) return frag_axes;
  if (kernel.launch_on_cuda != &launchers_simt) return {};
  if (kernel.formats == FormatClass::FLOATS) return floats_axes;
  return simt_axes;
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
