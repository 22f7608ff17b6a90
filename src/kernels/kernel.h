// What a kernel is to the rest of the library: a row of a backend's kernels.def. One list declares, selects, verifies,
// tunes and benches.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "arithmetic/activation.h"
#include "backends/cuda/launch.h"
#include "base/status.h"
#include "formats/matrix_view.h"
#include "kernels/tuning.h"
#include "layout/layout.h"

namespace lanewise {

struct KernelDesc;

/// How a kernel walks rows. A field a kernel doesn't use is 1.
struct Tile {
  std::uint16_t rows = 1;     ///< rows in flight
  std::uint16_t lanes = 1;    ///< lanes that share a row
  std::uint16_t unroll = 1;   ///< super-blocks a step
  std::uint16_t split_k = 1;  ///< parts of K, on the boundaries of the eighths
};

/// The formats a kernel is for, by their properties, never by name.
enum class FormatClass : std::uint8_t { CODES, FLOATS };
bool accepts(FormatClass formats, const FormatInfo& info);

/// Rows row_begin .. row_end-1 of every output of y; arguments as checked by the caller, no allocation.
using CpuLaunch = void (*)(const MatrixView& w, const Activation& x, const OutputView& y, std::uint64_t row_begin,
                           std::uint64_t row_end);
/// Whether this build holds the shader that runs it for a format.
using HasShader = bool (*)(const KernelDesc& kernel, Format format);
/// The unit that runs it for a format; null where this build has none.
using CudaLaunch = cuda::Launcher (*)(Format format);

/// What a device offers, as bits; a kernel's `needs` must all be there. An argument of select(), so that any machine
/// can ask what another would run.
enum Capability : std::uint32_t {
  CAP_NONE = 0,
  CAP_AVX2 = 1,           ///< with FMA and F16C
  CAP_AVXVNNI = 2,        ///< AVX-VNNI
  CAP_AVX512 = 4,         ///< F, BW, DQ, VL, VNNI, VBMI, GFNI, BITALG, VPOPCNTDQ
  CAP_NEON = 8,           ///< aarch64 with dotprod
  CAP_I8MM = 16,          ///< with i8mm
  CAP_SM75 = 32,          ///< a CUDA device of compute capability 7.5 or more
  CAP_SM80 = 64,          ///< 8.0: matrix units take 16 x 8 x 32 bytes, asynchronous copies
  CAP_SM90 = 128,         ///< 9.0: bulk copies, overlapped launches
  CAP_VULKAN = 256,       ///< a Vulkan device
  CAP_PACKED_DOT = 512,   ///< one that has dot products of packed bytes (VK_KHR_shader_integer_dot_product)
  CAP_VULKAN_GPU = 1024,  ///< one that has, and is no processor
  CAP_AMX = 2048,         ///< AMX's tiles of bytes, beside CAP_AVX512
};

struct KernelDesc {
  std::string_view backend;  ///< "cpu", "cuda", "vulkan"
  std::string_view name;     ///< "scalar"
  FormatClass formats;
  Layout layout;
  Tile tile;
  std::uint32_t needs;
  CpuLaunch launch;             ///< null: not the CPU's
  CudaLaunch launch_on_cuda{};  ///< null: not CUDA's
  HasShader has_shader{};       ///< null: not Vulkan's
};

/// Whether this build has the kernel's code for a format that it accepts.
bool is_built(const KernelDesc& kernel, Format format);

/// The kernels of a backend, best first; none of one that is unknown.
std::span<const KernelDesc> kernels(std::string_view backend);

/// "cpu.gemv.q4_K.raw.x16.scalar": how a kernel is printed, and chosen by name.
std::string kernel_name(const KernelDesc& kernel, const FormatInfo& info, Planes planes);

/// What is to be computed, as far as the choice of a kernel depends on it.
struct Problem {
  Format format;
  std::uint64_t rows;
  std::uint64_t cols;
  std::uint64_t tokens;
  Planes planes;
  Layout layout;
};

/// What was measured, and the threads that a product is to have (0 on other devices than a CPU).
struct Measured {
  const Tuning* tuning = nullptr;
  std::uint32_t threads = 0;
};

/// A choice, with the reason.
struct Plan {
  const KernelDesc* kernel;
  std::string name;
  std::string why;
  Setting setting{};
  const Tuned* tuned = nullptr;  ///< the entry that it was taken from; null: a default
};

/// What select() chooses, without its words.
struct Choice {
  const KernelDesc* kernel = nullptr;  ///< null where select() gives an error
  const Tuned* tuned = nullptr;
  [[nodiscard]] Setting setting() const { return tuned == nullptr ? Setting{} : tuned->setting; }
};
/// Allocates nothing.
Choice choose(const Problem& problem, std::string_view backend, std::uint32_t capabilities,
              std::string_view override_name = {}, const Measured& measured = {});
/// The kernel of choose() where nothing was measured.
const KernelDesc* find_kernel(const Problem& problem, std::string_view backend, std::uint32_t capabilities,
                              std::string_view override_name = {});

/// Pure: what was measured best for the problem, where there is an entry for it and this device can run it; otherwise
/// the first kernel of `backend` that accepts the problem and whose needs are all in `capabilities`. With
/// `override_name` (a kernel's full name, or its last part) that kernel, in its own choice of setting, or an error.
Result<Plan> select(const Problem& problem, std::string_view backend, std::uint32_t capabilities,
                    std::string_view override_name = {}, const Measured& measured = {});

}  // namespace lanewise
