// Device memory, and matrices in it: GGUF's bytes up and down, into the device's layout and back.
#include "backends/cuda/cuda.h"
#include "backends/cuda/units.h"

namespace lanewise::cuda {
namespace {

Error no_unit(Layout layout, Format format) {
  return make_error(LW_ERROR_UNSUPPORTED, "this build can't put " + std::string(format_info(format).name) +
                                              " into layout " + std::string(layout_name(layout)) + " on a CUDA device");
}

}  // namespace

Result<Memory> Memory::allocate(std::shared_ptr<Device> device, std::uint64_t bytes) {
  Memory memory;
  if (bytes == 0) return memory;
  LW_ASSIGN(data, device->allocate(bytes));
  memory.device_ = std::move(device);
  memory.data_ = data;
  memory.bytes_ = bytes;
  return memory;
}

bool has_layout_units(Layout layout, Format format) {
  return layout == Layout::raw || find_packers(layout, format).pack != nullptr;
}

std::uint64_t layout_bytes(Layout layout, const MatrixView& shape) {
  if (layout == Layout::frag) return frag_bytes(shape.format, shape.rows, shape.cols);
  return layout == Layout::raw ? shape.bytes() : 0;
}

Result<Memory> load_matrix(const std::shared_ptr<Device>& device, const MatrixView& raw, Layout layout) {
  if (!has_layout_units(layout, raw.format)) return no_unit(layout, raw.format);
  LW_ASSIGN(copied, Memory::allocate(device, raw.bytes()));
  if (raw.bytes() == 0) return std::move(copied);
  LW_TRY(device->copy(copied.data(), raw.data, raw.bytes()));
  if (layout == Layout::raw) return std::move(copied);
  LW_ASSIGN(packed, Memory::allocate(device, layout_bytes(layout, raw)));
  MatrixView view = raw;
  view.data = copied.data();
  LW_TRY(device->pack(layout, view, packed.data(), nullptr));
  LW_TRY(device->wait(nullptr));
  return std::move(packed);
}

Outcome store_matrix(const std::shared_ptr<Device>& device, const MatrixView& packed, Layout layout,
                     std::uint8_t* host) {
  if (!has_layout_units(layout, packed.format)) return no_unit(layout, packed.format);
  if (packed.bytes() == 0) return Done{};
  if (layout == Layout::raw) return device->copy(host, packed.data, packed.bytes());
  LW_ASSIGN(raw, Memory::allocate(device, packed.bytes()));
  LW_TRY(device->unpack(layout, packed, raw.data(), nullptr));
  LW_TRY(device->wait(nullptr));
  return device->copy(host, raw.data(), packed.bytes());
}

}  // namespace lanewise::cuda
