// What `lanewise bench` has to know of the machine, and the memory it walks.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace lanewise::program {

/// Bytes of the largest cache that the system shows for processor 0; 0 where it shows none.
std::uint64_t last_cache_bytes();
/// Bytes that can be had without swapping (MemAvailable); 0 where the system doesn't say.
std::uint64_t available_memory();
/// Processes that ran or waited to run, averaged over a minute; negative where the system doesn't say.
double load_average();

/// Anonymous memory, asked for in huge pages, aligned to them.
class WalkedMemory {
 public:
  /// Errors: LW_ERROR_MEMORY.
  static Result<WalkedMemory> create(std::uint64_t bytes);
  WalkedMemory() = default;
  WalkedMemory(WalkedMemory&& other) noexcept { swap(other); }
  WalkedMemory& operator=(WalkedMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~WalkedMemory();

  [[nodiscard]] std::uint8_t* data() const { return begin_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// The part of what was touched so far that lies in huge pages, 0 to 1; negative where the system doesn't say.
  [[nodiscard]] double huge_fraction() const;

 private:
  void swap(WalkedMemory& other) noexcept;

  void* mapped_ = nullptr;
  std::uint64_t mapped_size_ = 0;
  std::uint8_t* begin_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace lanewise::program
