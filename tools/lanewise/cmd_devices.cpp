// devices: what this build and machine can compute on.

#include <algorithm>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "backends/cpu/cpu.h"
#include "command.h"
#include "device.h"
#include "json.h"

namespace lanewise::program {
namespace {

struct Options {
  std::string json;
};

// Every kernel that the processor can run, by its full name at x16.
std::vector<std::string> cpu_kernel_names() {
  std::vector<std::string> names;
  for (const KernelDesc& kernel : cpu_kernels()) {
    if ((kernel.needs & ~cpu_capabilities()) != 0) continue;
    for (const FormatInfo& info : formats()) {
      if (accepts(kernel.formats, info)) names.push_back(kernel_name(kernel, info, Planes::x16));
    }
  }
  return names;
}

// A line a kernel, whatever the number of formats it takes; --json has the full names.
void print_kernels(Context& context) {
  for (const KernelDesc& kernel : cpu_kernels()) {
    if ((kernel.needs & ~cpu_capabilities()) != 0) continue;
    const auto takes =
        std::ranges::count_if(formats(), [&](const FormatInfo& info) { return accepts(kernel.formats, info); });
    context.out.print("        {:<8} layout {:<7} {} {} formats\n", kernel.name, layout_name(kernel.layout), takes,
                      kernel.formats == FormatClass::FLOATS ? "float" : "quantised");
  }
}

Exit devices(Context& context, const Options& options) {
  if (auto fault = check_isa()) return *fault;
  LW_TRY(check_json(options.json));
  const std::vector<std::string> names = cpu_kernel_names();
  Json list = Json::array();
  for (const DeviceEntry& entry : device_entries()) {
    Json device{{"name", entry.name}, {"available", entry.built}};
    if (entry.built) {
      device["description"] = cpu_description();
      device["threads"] = cpu_count();
      device["isa"] = cpu_isas();
      device["kernels"] = names;
    } else {
      device["reason"] = "not in this build";
    }
    list.push_back(device);
  }
  if (!options.json.empty()) return write_json(context, options.json, Json{{"devices", list}});

  for (const Json& device : list) {
    if (!device["available"].get<bool>()) {
      context.out.print("{:<8}{}\n", device["name"].get<std::string>(), device["reason"].get<std::string>());
      continue;
    }
    context.out.print("{:<8}{}, {} threads, instruction sets: {}\n", device["name"].get<std::string>(),
                      device["description"].get<std::string>(), device["threads"].get<std::uint32_t>(),
                      fmt::join(cpu_isas(), ", "));
    if (!context.quiet) print_kernels(context);
  }
  return exit_ok;
}

Job setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  declare_json(app, &options->json);
  return [options](Context& context) { return devices(context, *options); };
}

}  // namespace

const Command devices_command{"devices", "List the devices and their kernels",
                              "  lanewise devices\n"
                              "  lanewise devices --json - | jq '.devices[].name'",
                              setup};

}  // namespace lanewise::program
