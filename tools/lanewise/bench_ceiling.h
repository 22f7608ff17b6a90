// How fast this machine can read: loops that do nothing but load, in the widest registers there are. No kernel reads
// faster than the best of them; a plain loop alone is 5 to 14 % slower than one that prefetches, and a good kernel
// would beat it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lanewise::program {

struct ReadLoop {
  std::string_view name;
  /// Loads every byte of [begin, begin + bytes), `bytes` a multiple of 64, `begin` aligned to 64.
  void (*read)(const std::uint8_t* begin, std::uint64_t bytes);
};

/// For this processor.
std::span<const ReadLoop> read_loops();

}  // namespace lanewise::program
