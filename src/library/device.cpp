#include <algorithm>
#include <atomic>
#include <string>

#include "backends/cpu/cpu.h"
#include "backends/vulkan/vulkan.h"
#include "kernels/devices.h"
#include "kernels/kernel.h"
#include "kernels/parts.h"
#include "library/edge.h"
#include "library/handles.h"
#include "library/tuning.h"

namespace {

using namespace lanewise;  // NOLINT(google-build-using-namespace): the C interface stands outside it

// A processor with more threads than this is yet to be built; a number above it is a slip of the caller's.
constexpr std::uint32_t most_threads = 4096;

// A kernel asked for by name that no format has on this device is an error now, not at the first product.
Outcome check_kernel(const std::string& name, std::string_view backend, std::uint32_t capabilities, Layout layout) {
  Outcome nearest =
      make_error(LW_ERROR_NOT_FOUND, "no kernel of device '" + std::string(backend) + "' is called '" + name + "'");
  if (name.empty()) return nearest;  // find_kernel takes it for "any"
  for (const FormatInfo& info : formats()) {
    for (const Planes planes : {Planes::x8, Planes::x16, Planes::x24}) {
      const Problem problem{info.format, 1,      info.block_elements,
                            1,           planes, has_layout(layout, info) ? layout : Layout::raw};
      if (find_kernel(problem, backend, capabilities, name) != nullptr) return Done{};
      if (auto plan = select(problem, backend, capabilities, name); plan.error().code == LW_ERROR_UNSUPPORTED) {
        nearest = std::move(plan).error();
      }
    }
  }
  return nearest;
}

// A layout that no format has a kernel for is an error now, not after a whole model was repacked into it.
Outcome check_layout(const lw_device& device) {
  if (device.layout == Layout::raw) return Done{};
  for (const FormatInfo& info : formats()) {
    if (!has_layout(device.layout, info)) continue;
    for (const Planes planes : {Planes::x8, Planes::x16, Planes::x24}) {
      const Problem problem{info.format, 1, info.block_elements, 1, planes, device.layout};
      if (find_kernel(problem, device.backend, device.capabilities, device.kernel) != nullptr) return Done{};
    }
  }
  return make_error(LW_ERROR_UNSUPPORTED, device.name + " has no kernel for layout " +
                                              std::string(layout_name(device.layout)) +
                                              (!device.kernel.empty()  ? " called '" + device.kernel + "'"
                                               : device.gpu != nullptr ? " (" + device.description + ")"
                                                                       : " on this processor"));
}

// The layout where the caller chose none: the one that the device prefers, if this build, the device and the kernel
// asked for have it.
Layout usual_layout(lw_device& device) {
  const Layout layout = device.gpu->preferred_layout();
  device.layout = layout;
  const bool built = std::ranges::any_of(formats(), [&](const FormatInfo& info) {
    return has_layout(layout, info) && device.gpu->has_layout(layout, info.format);
  });
  return built && check_layout(device) ? layout : Layout::raw;
}

Result<Layout> find_layout(std::string_view name) {
#define LW_LAYOUT(layout, packed) \
  if (name == #layout) return Layout::layout;
#include "layout/layouts.def"
#undef LW_LAYOUT
  return make_error(LW_ERROR_NOT_FOUND, "no layout '" + std::string(name) + "': raw, rows16 or frag");
}

std::uint64_t new_id() {
  static std::atomic<std::uint64_t> next_id = 1;
  return next_id.fetch_add(1, std::memory_order_relaxed);
}

Outcome settle_on_cpu(const lw_device_options& options, lw_device& device) {
  if (options.threads > most_threads) {
    return edge::argument_error(std::to_string(options.threads) + " threads, more than " +
                                std::to_string(most_threads));
  }
  if (options.stream != nullptr || options.overlapped != 0) {
    return edge::argument_error("the CPU has neither streams nor overlapped launches");
  }
  device.description = cpu_description();
  LW_TRY(check_cpu_isa());
  device.capabilities = cpu_capabilities();
  return Done{};
}

Outcome settle_on_gpu(const lw_device_options& options, lw_device& device) {
  if (options.parallel_for != nullptr) {
    return edge::argument_error(device.name + " has no use for parallel_for: it computes on its own");
  }
  const gpu::DeviceInfo& info = device.gpu->info();
  device.backend = info.backend;
  device.name = info.id();
  device.description = info.name + ", " + info.about;
  device.capabilities = device.gpu->capabilities();
  device.stream = options.stream;
  device.overlapped = options.overlapped != 0 && (device.capabilities & CAP_SM90) != 0;
  return Done{};
}

// `gpu`: one that is open already; null: the one that the options name.
Outcome open(const lw_device_options& options, std::shared_ptr<gpu::Device> gpu, lw_device** out) {
  auto device = std::make_unique<lw_device>();
  device->id = new_id();
  device->name = options.name == nullptr ? "cpu" : options.name;
  if (gpu == nullptr) {
    LW_ASSIGN(opened, open_gpu(device->name));
    gpu = std::move(opened);
  }
  device->gpu = std::move(gpu);
  if (device->gpu != nullptr) {
    LW_TRY(settle_on_gpu(options, *device));
  } else {
    LW_TRY(settle_on_cpu(options, *device));
  }
  if (options.kernel != nullptr) device->kernel = options.kernel;
  if (options.layout != nullptr) {
    LW_ASSIGN(layout, find_layout(options.layout));
    device->layout = layout;
    device->layout_is_chosen = true;
  } else if (device->gpu != nullptr) {
    device->layout = usual_layout(*device);
  }
  if (options.kernel != nullptr) {
    LW_TRY(check_kernel(device->kernel, device->backend, device->capabilities, device->layout));
  }
  LW_TRY(check_layout(*device));
  if (device->gpu == nullptr) {
    device->threads = options.threads != 0 ? options.threads : cpu_count();
    device->parallel_for = options.parallel_for;
    if (options.parallel_for != nullptr) device->part_sizes = callers_parts;
    device->parallel_user = options.parallel_user;
    if (device->parallel_for == nullptr) {
      device->pool.reset(new Pool(device->threads));
      device->threads = device->pool->threads();
    }
  }
  edge::take_shipped_tuning(*device);
  *out = device.release();
  return Done{};
}

Outcome open_on_stream(const lw_device& device, void* stream, lw_device** out) {
  if (device.gpu == nullptr) return make_error(LW_ERROR_UNSUPPORTED, "the CPU has no streams");
  auto made = std::make_unique<lw_device>();
  made->id = device.id;
  made->backend = device.backend;
  made->name = device.name;
  made->description = device.description;
  made->kernel = device.kernel;
  made->capabilities = device.capabilities;
  made->layout = device.layout;
  made->layout_is_chosen = device.layout_is_chosen;
  made->gpu = device.gpu;
  made->stream = stream;
  made->overlapped = device.overlapped;
  made->tuning = device.tuning;
  *out = made.release();
  return Done{};
}

}  // namespace

std::uint32_t lw_device::most_parts() const {
  return parallel_for != nullptr ? threads : lanewise::most_parts(threads);
}

void lw_device::run(std::uint32_t count, Pool::Task task, void* context) const {
  if (count == 0) return;
  if (count == 1) {
    task(context, 0);
  } else if (parallel_for != nullptr) {
    parallel_for(parallel_user, count, task, context);
  } else {
    pool->run(count, task, context);
  }
}

lw_status lw_device_open(const lw_device_options* options, lw_device** out, lw_error* error) {
  if (out != nullptr) *out = nullptr;
  return edge::guarded(error, [&]() -> Outcome {
    if (out == nullptr) return edge::argument_error("out is a null pointer");
    lw_device_options read = LW_DEVICE_OPTIONS_INIT;
    if (options != nullptr) {
      if (!edge::has_known_size(options)) return edge::argument_error("the options have an unknown struct_size");
      read = edge::read(*options, read);
    }
    return open(read, nullptr, out);
  });
}

lw_status lw_device_open_vulkan(const lw_device_options* options, const lw_vulkan* vulkan, lw_device** out,
                                lw_error* error) {
  if (out != nullptr) *out = nullptr;
  return edge::guarded(error, [&]() -> Outcome {
    if (out == nullptr) return edge::argument_error("out is a null pointer");
    if (!edge::has_known_size(vulkan))
      return edge::argument_error("vulkan is a null pointer or of an unknown struct_size");
    lw_device_options read = LW_DEVICE_OPTIONS_INIT;
    if (options != nullptr) {
      if (!edge::has_known_size(options)) return edge::argument_error("the options have an unknown struct_size");
      read = edge::read(*options, read);
    }
    const lw_vulkan given = edge::read(*vulkan, lw_vulkan LW_VULKAN_INIT);
    if (given.instance == nullptr || given.physical_device == nullptr || given.device == nullptr ||
        given.queue == nullptr || given.get_instance_proc_addr == nullptr) {
      return edge::argument_error("a handle of the engine's Vulkan device is a null pointer");
    }
    LW_ASSIGN(device, vulkan::open_device(vulkan::Foreign{given.instance, given.physical_device, given.device,
                                                          given.queue, given.get_instance_proc_addr, given.queue_family,
                                                          given.has_dot_product != 0}));
    return open(read, std::move(device), out);
  });
}

lw_status lw_device_on_stream(const lw_device* device, void* stream, lw_device** out, lw_error* error) {
  if (out != nullptr) *out = nullptr;
  return edge::guarded(error, [&]() -> Outcome {
    if (!edge::is_valid(device)) return edge::argument_error("the device is a null pointer or no open device");
    if (out == nullptr) return edge::argument_error("out is a null pointer");
    return open_on_stream(*device, stream, out);
  });
}

lw_status lw_device_wait(const lw_device* device, lw_error* error) {
  return edge::guarded(error, [&]() -> Outcome {
    if (!edge::is_valid(device)) return edge::argument_error("the device is a null pointer or no open device");
    return device->gpu == nullptr ? Outcome(Done{}) : device->gpu->wait(device->stream);
  });
}

void lw_device_close(lw_device* device) {
  if (edge::is_valid(device)) delete device;
}

lw_status lw_device_query(const lw_device* device, lw_device_info* out) {
  if (!edge::is_valid(device) || !edge::has_known_size(out)) return LW_ERROR_ARGUMENT;
  lw_device_info info = LW_DEVICE_INFO_INIT;
  info.threads = device->threads;
  info.name = device->name.c_str();
  info.description = device->description.c_str();
  edge::fill(out, info);
  return LW_OK;
}
