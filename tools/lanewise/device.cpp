#include "device.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cpu/cpu.h"
#include "gguf/escape.h"

namespace lanewise::program {
std::vector<DeviceEntry> device_entries() {
  std::vector<DeviceEntry> entries{{"cpu", ""}};
  for (const GpuBackend& backend : gpu_backends()) {
    if (auto found = backend.list()) {
      for (gpu::DeviceInfo& info : *found) entries.push_back({info.id(), info.why_not, std::move(info)});
    } else {
      entries.push_back({std::string(backend.name), found.error().message});
    }
  }
  entries.push_back({"metal", "not in this build"});
  return entries;
}

void DeviceOptions::declare_device(Arguments& arguments) {
  arguments.option("--device", &device, "Where to compute; 'lanewise devices' lists what there is (default: cpu)")
      .type_name("D");
}

void DeviceOptions::declare_threads(Arguments& arguments) {
  arguments.number("--threads", &threads, 0, 1024,
                   "Threads of the CPU, up to 1024; 0: one a processor (default). No bit depends on it");
}

Argument DeviceOptions::declare_kernel(Arguments& arguments) {
  return arguments.option("--kernel", &kernel, "That kernel or an error, by its full name or the last part of it")
      .type_name("K");
}

std::optional<Fault> check_isa() {
  if (auto outcome = check_cpu_isa(); !outcome) return not_here(std::move(outcome).error());
  return std::nullopt;
}

std::optional<Fault> check_device(const DeviceOptions& options, Computes computes) {
  if (options.device == "cpu") return check_isa();
  const std::vector<DeviceEntry> entries = device_entries();
  std::vector<std::string> usable;
  for (const DeviceEntry& each : entries) {
    if (each.why_not.empty()) usable.push_back(each.name);
  }
  const auto gpu = parse_gpu_name(options.device);
  auto entry = std::ranges::find(entries, gpu ? fmt::format("{}:{}", gpu->backend->name, gpu->ordinal) : options.device,
                                 &DeviceEntry::name);
  if (gpu && entry == entries.end()) entry = std::ranges::find(entries, gpu->backend->name, &DeviceEntry::name);
  if (entry == entries.end()) {
    return not_here(make_error(LW_ERROR_NOT_FOUND,
                               fmt::format("there is no device '{}'; this machine and build have: {}",
                                           gguf::escape_for_terminal(options.device, 40), fmt::join(usable, ", "))));
  }
  if (!entry->why_not.empty()) {
    return not_here(
        make_error(LW_ERROR_UNSUPPORTED, fmt::format("there is no device '{}': {}; this machine and build have: {}",
                                                     options.device, entry->why_not, fmt::join(usable, ", "))));
  }
  if (computes == Computes::on_the_cpu) {
    return not_here(
        make_error(LW_ERROR_UNSUPPORTED, fmt::format("this command runs on the CPU alone, not on {}", entry->name)));
  }
  return check_isa();
}

std::uint32_t thread_count(const DeviceOptions& options) {
  return options.threads != 0 ? options.threads : std::max(1u, cpu_count());
}

Argument declare_planes(Arguments& arguments, std::string* name) {
  return arguments.option("--activation", name, "How x is held: x8, x16 (default) or x24 bits an element")
      .one_of({"x8", "x16", "x24"})
      .type_name("A");
}

Error from_c(lw_status status, const lw_error& error) { return {status, error.message, error.offset}; }

void print_warnings(const gpu::Device* device) {
  if (device == nullptr) return;
  for (const std::string& warning : device->warnings()) {
    fmt::print(stderr, "lanewise: warning: {}\n", gguf::escape_for_terminal(warning, warning.size()));
  }
}

Result<DeviceHandle> open_device(const DeviceOptions& options) {
  lw_device_options wanted = LW_DEVICE_OPTIONS_INIT;
  wanted.threads = thread_count(options);
  wanted.name = options.device.c_str();
  wanted.kernel = options.kernel.empty() ? nullptr : options.kernel.c_str();
  lw_device* device = nullptr;
  lw_error error = LW_ERROR_INIT;
  if (const lw_status status = lw_device_open(&wanted, &device, &error); status != LW_OK) return from_c(status, error);
  return DeviceHandle(device);
}

}  // namespace lanewise::program
