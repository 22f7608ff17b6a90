// Device memory, and matrices in it: GGUF's bytes up and down, into the device's layout and back.
#include "backends/gpu/gpu.h"

namespace lanewise::gpu {
namespace {

Error no_unit(const Device& device, Layout layout, Format format) {
  return make_error(LW_ERROR_UNSUPPORTED, "this build can't put " + std::string(format_info(format).name) +
                                              " into layout " + std::string(layout_name(layout)) + " on " +
                                              device.info().id());
}

}  // namespace

Result<Memory> Memory::allocate(std::shared_ptr<Device> device, std::uint64_t bytes, std::uint64_t together) {
  Memory memory;
  if (bytes == 0) return memory;
  LW_ASSIGN(data, device->allocate(bytes, together));
  memory.device_ = std::move(device);
  memory.data_ = data;
  memory.bytes_ = bytes;
  return memory;
}

Result<Memory> load_matrix(const std::shared_ptr<Device>& device, const MatrixView& raw, Layout layout) {
  if (!device->has_layout(layout, raw.format)) return no_unit(*device, layout, raw.format);
  LW_ASSIGN(copied, Memory::allocate(device, raw.bytes(), device->layout_unit(Layout::raw, raw)));
  if (raw.bytes() == 0) return std::move(copied);
  LW_TRY(device->copy(copied.data(), raw.data, raw.bytes()));
  if (layout == Layout::raw) return std::move(copied);
  LW_ASSIGN(packed, Memory::allocate(device, device->layout_bytes(layout, raw), device->layout_unit(layout, raw)));
  MatrixView view = raw;
  view.data = copied.data();
  LW_TRY(device->pack(layout, view, packed.data(), nullptr));
  LW_TRY(device->wait(nullptr));
  return std::move(packed);
}

Outcome store_matrix(const std::shared_ptr<Device>& device, const MatrixView& packed, Layout layout,
                     std::uint8_t* host) {
  if (!device->has_layout(layout, packed.format)) return no_unit(*device, layout, packed.format);
  if (packed.bytes() == 0) return Done{};
  if (layout == Layout::raw) return device->copy(host, packed.data, packed.bytes());
  LW_ASSIGN(raw, Memory::allocate(device, packed.bytes(), device->layout_unit(Layout::raw, packed)));
  LW_TRY(device->unpack(layout, packed, raw.data(), nullptr));
  LW_TRY(device->wait(nullptr));
  return device->copy(host, raw.data(), packed.bytes());
}

}  // namespace lanewise::gpu
