// devices: what this build and machine can compute on.

#include <algorithm>

#include <fmt/ranges.h>

#include "backends/cpu/cpu.h"
#include "backends/cuda/cuda.h"
#include "command.h"
#include "device.h"
#include "json.h"

namespace lanewise::program {
namespace {

struct DevicesOptions {
  std::string json;
};

bool can_run(const KernelDesc& kernel, const FormatInfo& info, std::uint32_t capabilities) {
  if ((kernel.needs & ~capabilities) != 0 || !accepts(kernel.formats, info)) return false;
  return is_built(kernel, info.format);
}

// Every kernel that a device can run, by its full name at x16.
std::vector<std::string> kernel_names(std::string_view backend, std::uint32_t capabilities) {
  std::vector<std::string> names;
  for (const KernelDesc& kernel : kernels(backend)) {
    for (const FormatInfo& info : formats()) {
      if (can_run(kernel, info, capabilities)) names.push_back(kernel_name(kernel, info, Planes::x16));
    }
  }
  return names;
}

// A line a kernel, whatever the number of formats it takes; --json has the full names.
void print_kernels(Context& context, std::string_view backend, std::uint32_t capabilities) {
  for (const KernelDesc& kernel : kernels(backend)) {
    const auto takes =
        std::ranges::count_if(formats(), [&](const FormatInfo& info) { return can_run(kernel, info, capabilities); });
    if (takes == 0) continue;
    context.out.print("         {:<8} layout {:<7} {} {} formats\n", kernel.name, layout_name(kernel.layout), takes,
                      kernel.formats == FormatClass::FLOATS ? "float" : "quantised");
  }
}

Json describe(const DeviceEntry& entry) {
  Json device{{"name", entry.name}, {"available", entry.why_not.empty()}};
  if (entry.gpu) {
    device["description"] = entry.gpu->name;
    device["about"] = entry.gpu->about;
    device["memory_bytes"] = entry.gpu->memory_bytes;
    if (entry.gpu->backend == "cuda") {
      device["compute_capability"] = fmt::format("{}.{}", entry.gpu->major, entry.gpu->minor);
      device["multiprocessors"] = entry.gpu->multiprocessors;
      device["built_for"] = cuda::built_for();
    }
    device["kernels"] = kernel_names(entry.gpu->backend, entry.gpu->capabilities);
  } else if (entry.why_not.empty()) {
    device["description"] = cpu_description();
    device["threads"] = cpu_count();
    device["isa"] = cpu_isas();
    device["kernels"] = kernel_names("cpu", cpu_capabilities());
  }
  if (!entry.why_not.empty()) device["reason"] = entry.why_not;
  return device;
}

void print(Context& context, const DeviceEntry& entry) {
  if (entry.gpu) {
    constexpr double gib = 1073741824.0;
    context.out.print("{:<9}{}, {}, {:.1f} GiB{}{}\n", entry.name, entry.gpu->name, entry.gpu->about,
                      static_cast<double>(entry.gpu->memory_bytes) / gib,
                      entry.why_not.empty() ? "" : "; not usable: ", entry.why_not);
    if (context.quiet || !entry.why_not.empty()) return;
    print_kernels(context, entry.gpu->backend, entry.gpu->capabilities);
  } else if (!entry.why_not.empty()) {
    context.out.print("{:<9}{}\n", entry.name, entry.why_not);
  } else {
    context.out.print("{:<9}{}, {} threads, instruction sets: {}\n", entry.name, cpu_description(), cpu_count(),
                      fmt::join(cpu_isas(), ", "));
    if (!context.quiet) print_kernels(context, "cpu", cpu_capabilities());
  }
}

Exit devices(Context& context, const DevicesOptions& options) {
  if (auto fault = check_isa()) return *fault;
  LW_TRY(check_json(options.json));
  const std::vector<DeviceEntry> entries = device_entries();
  if (!options.json.empty()) {
    Json list = Json::array();
    for (const DeviceEntry& entry : entries) list.push_back(describe(entry));
    return write_json(context, options.json, Json{{"devices", list}});
  }
  for (const DeviceEntry& entry : entries) print(context, entry);
  return exit_ok;
}

Job setup_devices(Arguments& arguments) {
  auto options = std::make_shared<DevicesOptions>();
  declare_json(arguments, &options->json);
  return [options](Context& context) { return devices(context, *options); };
}

}  // namespace

const Command devices_command{"devices", "List the devices and their kernels",
                              "  lanewise devices\n"
                              "  lanewise devices --json - | jq '.devices[].name'",
                              setup_devices};

}  // namespace lanewise::program
