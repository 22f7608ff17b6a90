// Memory of a Vulkan device, cut from a few large allocations, under addresses of its own: a range of the process'
// address space is reserved for each piece (and can't be touched there), so that pointers into device memory are like
// those of other backends, never those of anything else, and find their buffer again.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <vector>

#include "backends/vulkan/loader.h"

namespace lanewise::vulkan {

/// What an address stands for. `left` bytes follow in the same buffer and allocation.
struct Place {
  VkBuffer buffer = VK_NULL_HANDLE;
  std::uint64_t offset = 0;
  std::uint64_t left = 0;
};

/// Not for several threads at once.
class Heap {
 public:
  static constexpr std::uint64_t alignment = 256;
  static constexpr std::uint64_t shared_block = std::uint64_t{64} << 20;  ///< what small pieces are cut from

  Heap(const Functions& functions, VkDevice device, std::uint32_t memory_type, std::uint64_t most_at_once)
      : functions_(functions), device_(device), memory_type_(memory_type), most_at_once_(most_at_once) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  ~Heap();

  /// See gpu::Device::allocate().
  Result<std::uint8_t*> allocate(std::uint64_t bytes, std::uint64_t together);
  /// An address for a buffer of the caller's, which stays the caller's.
  Result<std::uint8_t*> adopt(VkBuffer buffer, std::uint64_t offset, std::uint64_t bytes);
  void release(std::uint8_t* address);
  /// Nothing is at `left` 0.
  [[nodiscard]] Place find(const void* address) const;
  /// Bytes of what allocate() or adopt() gave; 0 for any other address.
  [[nodiscard]] std::uint64_t size(const std::uint8_t* address) const;
  /// Allocations that the driver has given and not got back.
  [[nodiscard]] std::size_t blocks() const { return blocks_.size(); }

 private:
  struct Block {
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkBuffer buffer = VK_NULL_HANDLE;
    std::uint64_t bytes = 0;
    std::map<std::uint64_t, std::uint64_t> free;  ///< offset and length
  };
  using BlockAt = std::list<Block>::iterator;
  struct Piece {
    BlockAt block;
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  struct Held {
    std::uint64_t bytes = 0;        ///< that may be addressed
    std::uint64_t reserved = 0;     ///< of the address space
    std::uint64_t piece_bytes = 0;  ///< of each piece but the last
    std::vector<Piece> pieces;
    VkBuffer adopted = VK_NULL_HANDLE;  ///< in place of pieces
    std::uint64_t adopted_at = 0;
  };

  Result<BlockAt> make_block(std::uint64_t bytes);
  void drop_block(BlockAt block);
  Result<Piece> cut(std::uint64_t bytes);
  void give_back(const Piece& piece);
  Result<std::uint8_t*> hold(Held held);

  const Functions& functions_;
  VkDevice device_;
  std::uint32_t memory_type_;
  std::uint64_t most_at_once_;
  std::list<Block> blocks_;
  std::map<std::uintptr_t, Held> held_;
};

}  // namespace lanewise::vulkan
