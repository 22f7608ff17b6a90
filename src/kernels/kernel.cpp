#include "kernels/kernel.h"

#include <algorithm>
#include <array>

#include "backends/cpu/cpu.h"
#include "backends/cuda/cuda.h"
#include "backends/vulkan/vulkan.h"

namespace lanewise {
namespace {

// Float weights read an image of their own: the planes of the activation don't touch them.
std::string_view image_part(const FormatInfo& info, Planes planes) {
  return info.is_float() ? "xq" : planes_name(planes);
}

}  // namespace

bool accepts(FormatClass formats, const FormatInfo& info) {
  return (formats == FormatClass::FLOATS) == info.is_float();
}

std::span<const KernelDesc> kernels(std::string_view backend) {
  if (backend == "cpu") return cpu_kernels();
  if (backend == "cuda") return cuda_kernels();
  if (backend == "vulkan") return vulkan_kernels();
  return {};
}

std::string kernel_name(const KernelDesc& kernel, const FormatInfo& info, Planes planes) {
  std::string name(kernel.backend);
  name.append(".gemv.").append(info.name).append(".").append(layout_name(kernel.layout)).append(".");
  name.append(image_part(info, planes)).append(".").append(kernel.name);
  return name;
}

namespace {

// name == kernel_name(...) or its last part, without making the string.
bool is_called(std::string_view name, const KernelDesc& kernel, const FormatInfo& info, Planes planes) {
  if (name == kernel.name) return true;
  const std::array<std::string_view, 9> parts = {
      kernel.backend,           ".gemv.", info.name,  ".", layout_name(kernel.layout), ".",
      image_part(info, planes), ".",      kernel.name};
  for (const std::string_view part : parts) {
    if (!name.starts_with(part)) return false;
    name.remove_prefix(part.size());
  }
  return name.empty();
}

bool is_candidate(const KernelDesc& kernel, const Problem& problem, std::string_view override_name) {
  const FormatInfo& info = format_info(problem.format);
  if (kernel.layout != problem.layout || !accepts(kernel.formats, info)) return false;
  return override_name.empty() || is_called(override_name, kernel, info, problem.planes);
}

}  // namespace

Choice choose(const Problem& problem, std::string_view backend, std::uint32_t capabilities,
              std::string_view override_name, const Measured& measured) {
  if (override_name.empty() && measured.tuning != nullptr) {
    const Tuned* const tuned = measured.tuning->find(problem, measured.threads);
    const bool can_run = tuned != nullptr && tuned->kernel->backend == backend &&
                         is_candidate(*tuned->kernel, problem, {}) && (tuned->kernel->needs & ~capabilities) == 0;
    if (can_run) return {tuned->kernel, tuned};
  }
  // A row of shaders may have them for some formats of its class alone; where a build has none at all, the table still
  // says what one that has them would run.
  const KernelDesc* unbuilt = nullptr;
  for (const KernelDesc& kernel : kernels(backend)) {
    if (!is_candidate(kernel, problem, override_name) || (kernel.needs & ~capabilities) != 0) continue;
    if (kernel.has_shader == nullptr || kernel.has_shader(kernel, problem.format)) return {&kernel, nullptr};
    if (unbuilt == nullptr) unbuilt = &kernel;
  }
  return {unbuilt, nullptr};
}

const KernelDesc* find_kernel(const Problem& problem, std::string_view backend, std::uint32_t capabilities,
                              std::string_view override_name) {
  return choose(problem, backend, capabilities, override_name).kernel;
}

Result<Plan> select(const Problem& problem, std::string_view backend, std::uint32_t capabilities,
                    std::string_view override_name, const Measured& measured) {
  const FormatInfo& info = format_info(problem.format);
  const Choice choice = choose(problem, backend, capabilities, override_name, measured);
  if (choice.kernel != nullptr) {
    std::string why = override_name.empty() ? "the first of the list that this device can run" : "asked for by name";
    if (choice.tuned != nullptr) {
      why = choice.tuned->why;
    } else if (override_name.empty() && measured.tuning != nullptr) {
      why += ", a default that nobody measured for this shape";
    }
    return Plan{choice.kernel, kernel_name(*choice.kernel, info, problem.planes), std::move(why), choice.setting(),
                choice.tuned};
  }
  const auto known = [&](const KernelDesc& kernel) { return is_candidate(kernel, problem, override_name); };
  const bool known_name = override_name.empty() || std::ranges::any_of(kernels(backend), known);
  std::string what = std::string(backend) + " has no kernel for " + std::string(info.name) + " in layout " +
                     std::string(layout_name(problem.layout));
  if (!known_name) {
    return make_error(LW_ERROR_NOT_FOUND, what + " called '" + std::string(override_name) + "'");
  }
  if (!override_name.empty()) {
    return make_error(LW_ERROR_UNSUPPORTED, "this device lacks what kernel '" + std::string(override_name) + "' needs");
  }
  return make_error(LW_ERROR_UNSUPPORTED, std::move(what));
}

}  // namespace lanewise
