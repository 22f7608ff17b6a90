#include "site.h"

#include <string>

namespace lanewise::program {

Result<Site> Site::open(const std::string& device) {
  Site site;
  if (const auto ordinal = cuda::ordinal_of(device)) {
    LW_ASSIGN(opened, cuda::open_device(*ordinal));
    site.cuda_ = std::move(opened);
  }
  return site;
}

Result<SiteBuffer> Site::put(const void* host, std::uint64_t bytes) const {
  SiteBuffer buffer;
  if (cuda_ == nullptr) {
    buffer.data = const_cast<void*>(host);  // a product only reads it
    return buffer;
  }
  LW_ASSIGN(memory, cuda::Memory::allocate(cuda_, bytes));
  buffer.memory = std::move(memory);
  buffer.data = buffer.memory.data();
  LW_TRY(cuda_->copy(buffer.data, host, bytes));
  return buffer;
}

Result<SiteBuffer> Site::room(void* host, std::uint64_t bytes) const {
  SiteBuffer buffer;
  if (cuda_ == nullptr) {
    buffer.data = host;
    return buffer;
  }
  LW_ASSIGN(memory, cuda::Memory::allocate(cuda_, bytes));
  buffer.memory = std::move(memory);
  buffer.data = buffer.memory.data();
  return buffer;
}

Outcome Site::fetch(const SiteBuffer& buffer, void* host, std::uint64_t bytes) const {
  if (cuda_ == nullptr) return Done{};
  LW_TRY(cuda_->wait(nullptr));
  return cuda_->copy(host, buffer.data, bytes);
}

}  // namespace lanewise::program
