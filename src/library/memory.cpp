// Memory of a device for callers that have no other way to it.
#include <cstring>
#include <new>
#include <string>

#include "backends/vulkan/vulkan.h"
#include "library/edge.h"
#include "library/handles.h"
#include "library/overlap.h"

namespace {

using namespace lanewise;  // NOLINT(google-build-using-namespace): the C interface stands outside it

constexpr std::align_val_t alignment{256};

Outcome check(const lw_device* device) {
  if (!edge::is_valid(device)) return edge::argument_error("the device is a null pointer or no open device");
  return Done{};
}

}  // namespace

lw_status lw_memory_allocate(lw_device* device, uint64_t bytes, void** out, lw_error* error) {
  if (out != nullptr) *out = nullptr;
  return edge::guarded(error, [&]() -> Outcome {
    LW_TRY(check(device));
    if (out == nullptr) return edge::argument_error("out is a null pointer");
    if (bytes == 0 || bytes > PTRDIFF_MAX) {
      return edge::argument_error(std::to_string(bytes) + " bytes: memory has from 1 to 2^63 - 1");
    }
    if (device->gpu != nullptr) {
      LW_ASSIGN(memory, device->gpu->allocate(bytes, 0));
      *out = memory;
      return Done{};
    }
    *out = ::operator new(bytes, alignment, std::nothrow);
    if (*out == nullptr) return make_error(LW_ERROR_MEMORY, "no memory for " + std::to_string(bytes) + " bytes");
    return Done{};
  });
}

void lw_memory_free(lw_device* device, void* memory) {
  if (memory == nullptr || !edge::is_valid(device)) return;
  if (device->gpu != nullptr) {
    device->gpu->release(static_cast<std::uint8_t*>(memory));
  } else {
    ::operator delete(memory, alignment);
  }
}

lw_status lw_memory_copy(lw_device* device, void* to, const void* from, uint64_t bytes, lw_error* error) {
  return edge::guarded(error, [&]() -> Outcome {
    LW_TRY(check(device));
    if (bytes == 0) return Done{};
    if (to == nullptr || from == nullptr) return edge::argument_error("to or from is a null pointer");
    if (!edge::can_be_object(to, bytes) || !edge::can_be_object(from, bytes)) {
      return edge::argument_error("to or from and their bytes pass the end of memory");
    }
    if (device->gpu == nullptr) {
      std::memmove(to, from, bytes);
      return Done{};
    }
    LW_TRY(device->gpu->wait(device->stream));
    return device->gpu->copy(to, from, bytes);
  });
}

lw_status lw_vulkan_address(lw_device* device, uint64_t buffer, uint64_t offset, uint64_t bytes, void** out,
                            lw_error* error) {
  if (out != nullptr) *out = nullptr;
  return edge::guarded(error, [&]() -> Outcome {
    LW_TRY(check(device));
    if (out == nullptr) return edge::argument_error("out is a null pointer");
    if (device->gpu == nullptr || device->gpu->info().backend != "vulkan") {
      return edge::argument_error(device->name + " is no Vulkan device");
    }
    if (buffer == 0 || bytes == 0 || offset % 256 != 0 || bytes > PTRDIFF_MAX) {
      return edge::argument_error("a buffer, from a multiple of 256 bytes on, and at least one byte of it are needed");
    }
    LW_ASSIGN(address, vulkan::adopt_buffer(*device->gpu, buffer, offset, bytes));
    *out = address;
    return Done{};
  });
}
