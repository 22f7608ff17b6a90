#include "site.h"

#include <string>

#include "kernels/devices.h"

namespace lanewise::program {

Result<Site> Site::open(const std::string& device) {
  Site site;
  LW_ASSIGN(opened, open_gpu(device));
  site.gpu_ = std::move(opened);
  return site;
}

Result<SiteBuffer> Site::put(const void* host, std::uint64_t bytes) const {
  SiteBuffer buffer;
  if (gpu_ == nullptr) {
    buffer.data = const_cast<void*>(host);  // a product only reads it
    return buffer;
  }
  LW_ASSIGN(memory, gpu::Memory::allocate(gpu_, bytes));
  buffer.memory = std::move(memory);
  buffer.data = buffer.memory.data();
  LW_TRY(gpu_->copy(buffer.data, host, bytes));
  return buffer;
}

Result<SiteBuffer> Site::room(void* host, std::uint64_t bytes) const {
  SiteBuffer buffer;
  if (gpu_ == nullptr) {
    buffer.data = host;
    return buffer;
  }
  LW_ASSIGN(memory, gpu::Memory::allocate(gpu_, bytes));
  buffer.memory = std::move(memory);
  buffer.data = buffer.memory.data();
  return buffer;
}

Outcome Site::fetch(const SiteBuffer& buffer, void* host, std::uint64_t bytes) const {
  if (gpu_ == nullptr) return Done{};
  LW_TRY(gpu_->wait(nullptr));
  return gpu_->copy(host, buffer.data, bytes);
}

}  // namespace lanewise::program
