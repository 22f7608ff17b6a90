#include "bench_machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace lanewise::program {
namespace {

constexpr std::uint64_t huge_page = std::uint64_t{2} << 20;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
File open_text(const char* path) {
  return {std::fopen(path, "r"), [](std::FILE* f) { return std::fclose(f); }};
}

// "260M", "2048K" or plain bytes.
std::uint64_t parse_size(const char* text) {
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text, &end, 10);
  if (*end == 'K') return number << 10;
  if (*end == 'M') return number << 20;
  if (*end == 'G') return number << 30;
  return number;
}

}  // namespace

std::uint64_t last_cache_bytes() {
  std::uint64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    const File file = open_text(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index).c_str());
    std::array<char, 32> line{};
    if (file == nullptr || std::fgets(line.data(), line.size(), file.get()) == nullptr) continue;
    largest = std::max(largest, parse_size(line.data()));
  }
  return largest;
}

std::uint64_t available_memory() {
  const File file = open_text("/proc/meminfo");
  std::array<char, 128> line{};
  std::uint64_t kib = 0;
  while (file != nullptr && std::fgets(line.data(), line.size(), file.get()) != nullptr) {
    if (std::sscanf(line.data(), "MemAvailable: %" SCNu64 " kB", &kib) == 1) return kib << 10;
  }
  return 0;
}

double load_average() {
  double load = -1;
  return ::getloadavg(&load, 1) == 1 ? load : -1;
}

Result<WalkedMemory> WalkedMemory::create(std::uint64_t bytes) {
  WalkedMemory memory;
  // One huge page more than asked for, to align in; and one behind, so that a last part of one can be huge too.
  const std::uint64_t size = (bytes + huge_page - 1) / huge_page * huge_page + huge_page;
  void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    return make_error(LW_ERROR_MEMORY, fmt::format("{} MB to walk can't be had; --bytes asks for less", bytes >> 20));
  }
  memory.mapped_ = mapped;
  memory.mapped_size_ = size;
  auto* first = static_cast<std::uint8_t*>(mapped);
  const std::uint64_t past = reinterpret_cast<std::uintptr_t>(mapped) % huge_page;
  memory.begin_ = past == 0 ? first : first + (huge_page - past);
  memory.size_ = bytes;
  // Refused where the system has none: huge_fraction() tells.
  (void)::madvise(mapped, size, MADV_HUGEPAGE);
  return memory;
}

WalkedMemory::~WalkedMemory() {
  if (mapped_ != nullptr) ::munmap(mapped_, mapped_size_);
}

void WalkedMemory::swap(WalkedMemory& other) noexcept {
  std::swap(mapped_, other.mapped_);
  std::swap(mapped_size_, other.mapped_size_);
  std::swap(begin_, other.begin_);
  std::swap(size_, other.size_);
}

double WalkedMemory::huge_fraction() const {
  const File file = open_text("/proc/self/smaps");
  if (file == nullptr || mapped_ == nullptr) return -1;
  const auto ours = reinterpret_cast<std::uintptr_t>(mapped_);
  std::array<char, 512> line{};
  bool inside = false;
  std::uint64_t resident = 0;
  std::uint64_t huge = 0;
  while (std::fgets(line.data(), line.size(), file.get()) != nullptr) {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t kib = 0;
    if (std::sscanf(line.data(), "%" SCNx64 "-%" SCNx64 " ", &begin, &end) == 2) {
      // The kernel may cut our mapping in two, or show it joined with a neighbour.
      inside = begin < ours + mapped_size_ && ours < end;
    } else if (inside && std::sscanf(line.data(), "Rss: %" SCNu64, &kib) == 1) {
      resident += kib;
    } else if (inside && std::sscanf(line.data(), "AnonHugePages: %" SCNu64, &kib) == 1) {
      huge += kib;
    }
  }
  return resident == 0 ? -1 : static_cast<double>(huge) / static_cast<double>(resident);
}

}  // namespace lanewise::program
