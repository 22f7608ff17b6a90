#include "backends/vulkan/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/checked.h"

namespace lanewise::vulkan {
namespace {

constexpr std::uint64_t page = 4096;

std::uint64_t up(std::uint64_t bytes, std::uint64_t unit) { return ceil_div(bytes, unit) * unit; }

Error too_large(std::uint64_t bytes, std::uint64_t most) {
  return make_error(LW_ERROR_MEMORY, std::to_string(bytes) +
                                         " bytes of Vulkan memory that must lie together: the driver " + "gives " +
                                         std::to_string(most) + " at once");
}

}  // namespace

Heap::~Heap() {
  for (const auto& [address, held] : held_) munmap(reinterpret_cast<void*>(address), held.reserved);
  while (!blocks_.empty()) drop_block(blocks_.begin());
}

Result<Heap::BlockAt> Heap::make_block(std::uint64_t bytes) {
  const std::string what = "allocating " + std::to_string(bytes) + " bytes of Vulkan memory";
  Block block;
  block.bytes = bytes;
  VkBufferCreateInfo create{};
  create.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  create.size = bytes;
  create.usage =
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  LW_TRY(check(functions_.CreateBuffer(device_, &create, nullptr, &block.buffer), what));
  VkMemoryRequirements needs{};
  functions_.GetBufferMemoryRequirements(device_, block.buffer, &needs);
  VkMemoryAllocateInfo allocate{};
  allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = memory_type_;
  Outcome made = (needs.memoryTypeBits >> memory_type_ & 1u) == 0
                     ? make_error(LW_ERROR_DEVICE, what + ": buffers can't lie in the memory chosen for them")
                     : check(functions_.AllocateMemory(device_, &allocate, nullptr, &block.memory), what);
  if (made) made = check(functions_.BindBufferMemory(device_, block.buffer, block.memory, 0), what);
  if (!made) {
    functions_.DestroyBuffer(device_, block.buffer, nullptr);
    if (block.memory != VK_NULL_HANDLE) functions_.FreeMemory(device_, block.memory, nullptr);
    return std::move(made).error();
  }
  block.free[0] = bytes;
  blocks_.push_back(std::move(block));
  return std::prev(blocks_.end());
}

void Heap::drop_block(BlockAt block) {
  functions_.DestroyBuffer(device_, block->buffer, nullptr);
  functions_.FreeMemory(device_, block->memory, nullptr);
  blocks_.erase(block);
}

Result<Heap::Piece> Heap::cut(std::uint64_t bytes) {
  const auto take = [bytes](BlockAt block, std::map<std::uint64_t, std::uint64_t>::iterator hole) {
    const auto [offset, length] = *hole;
    block->free.erase(hole);
    if (length > bytes) block->free[offset + bytes] = length - bytes;
    return Piece{block, offset, bytes};
  };
  const std::uint64_t shared = std::min(shared_block, most_at_once_);
  if (bytes <= shared / 4) {
    for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
      if (block->bytes != shared) continue;
      const auto hole = std::ranges::find_if(block->free, [bytes](const auto& each) { return each.second >= bytes; });
      if (hole != block->free.end()) return take(block, hole);
    }
  }
  LW_ASSIGN(block, make_block(bytes <= shared / 4 ? shared : bytes));
  return take(block, block->free.begin());
}

void Heap::give_back(const Piece& piece) {
  auto& free = piece.block->free;
  auto at = free.emplace(piece.offset, piece.bytes).first;
  if (const auto next = std::next(at); next != free.end() && at->first + at->second == next->first) {
    at->second += next->second;
    free.erase(next);
  }
  if (at != free.begin()) {
    if (const auto before = std::prev(at); before->first + before->second == at->first) {
      before->second += at->second;
      free.erase(at);
      at = before;
    }
  }
  if (at->second == piece.block->bytes) drop_block(piece.block);
}

Result<std::uint8_t*> Heap::hold(Held held) {
  held.reserved = up(held.bytes, page);
  void* const range = mmap(nullptr, held.reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    for (const Piece& piece : held.pieces) give_back(piece);
    return make_error(LW_ERROR_MEMORY, "no addresses for " + std::to_string(held.bytes) + " bytes of Vulkan memory");
  }
  held_.emplace(reinterpret_cast<std::uintptr_t>(range), std::move(held));
  return static_cast<std::uint8_t*>(range);
}

Result<std::uint8_t*> Heap::allocate(std::uint64_t bytes, std::uint64_t together) {
  if (bytes == 0 || bytes > UINT64_MAX - page) return make_error(LW_ERROR_MEMORY, "no memory has such a size");
  Held held;
  held.bytes = up(bytes, alignment);
  held.piece_bytes = held.bytes;
  if (held.bytes > most_at_once_) {
    if (together == 0) return too_large(bytes, most_at_once_);
    // Room for the bytes that a last word of a piece may have behind it.
    held.piece_bytes = (most_at_once_ - alignment) / together * together;
    if (held.piece_bytes == 0) return too_large(together, most_at_once_);
  }
  for (std::uint64_t at = 0; at < held.bytes; at += held.piece_bytes) {
    auto piece = cut(up(std::min(held.piece_bytes, held.bytes - at), alignment));
    if (!piece) {
      for (const Piece& each : held.pieces) give_back(each);
      return std::move(piece).error();
    }
    held.pieces.push_back(*piece);
  }
  return hold(std::move(held));
}

Result<std::uint8_t*> Heap::adopt(VkBuffer buffer, std::uint64_t offset, std::uint64_t bytes) {
  Held held;
  held.bytes = bytes;
  held.piece_bytes = bytes;
  held.adopted = buffer;
  held.adopted_at = offset;
  return hold(std::move(held));
}

void Heap::release(std::uint8_t* address) {
  const auto at = held_.find(reinterpret_cast<std::uintptr_t>(address));
  if (at == held_.end()) return;
  for (const Piece& piece : at->second.pieces) give_back(piece);
  munmap(address, at->second.reserved);
  held_.erase(at);
}

std::uint64_t Heap::size(const std::uint8_t* address) const {
  const auto at = held_.find(reinterpret_cast<std::uintptr_t>(address));
  return at == held_.end() ? 0 : at->second.bytes;
}

Place Heap::find(const void* address) const {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  auto at = held_.upper_bound(value);
  if (at == held_.begin()) return {};
  --at;
  const Held& held = at->second;
  const std::uint64_t inside = value - at->first;
  if (inside >= held.bytes) return {};
  if (held.adopted != VK_NULL_HANDLE) return {held.adopted, held.adopted_at + inside, held.bytes - inside};
  const std::uint64_t index = inside / held.piece_bytes;
  const std::uint64_t in_piece = inside % held.piece_bytes;
  const Piece& piece = held.pieces[index];
  const std::uint64_t end = std::min(held.piece_bytes, held.bytes - index * held.piece_bytes);
  return {piece.block->buffer, piece.offset + in_piece, end - in_piece};
}

}  // namespace lanewise::vulkan
