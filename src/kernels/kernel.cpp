#include "kernels/kernel.h"

#include <algorithm>

#include "backends/cpu/cpu.h"

namespace lanewise {

bool accepts(FormatClass formats, const FormatInfo& info) { return (formats == FormatClass::FLOATS) == info.is_float(); }

std::span<const KernelDesc> kernels() { return cpu_kernels(); }

std::string kernel_name(const KernelDesc& kernel, const FormatInfo& info, Planes planes) {
  std::string name(kernel.backend);
  name.append(".gemv.").append(info.name).append(".").append(layout_name(kernel.layout)).append(".");
  // Float weights read an image of their own: the planes of the activation don't touch them.
  name.append(info.is_float() ? "xq" : planes_name(planes)).append(".").append(kernel.name);
  return name;
}

Result<Plan> select(const Problem& problem, std::string_view backend, std::uint32_t capabilities,
                    std::string_view override_name) {
  const FormatInfo& info = format_info(problem.format);
  bool known_name = override_name.empty();
  for (const KernelDesc& kernel : kernels()) {
    if (kernel.backend != backend || kernel.layout != problem.layout || !accepts(kernel.formats, info)) continue;
    std::string name = kernel_name(kernel, info, problem.planes);
    if (!override_name.empty() && override_name != name && override_name != kernel.name) continue;
    known_name = true;
    if ((kernel.needs & ~capabilities) != 0) continue;
    std::string why = override_name.empty() ? "the first of the list that this device can run" : "asked for by name";
    return Plan{&kernel, std::move(name), std::move(why)};
  }
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
