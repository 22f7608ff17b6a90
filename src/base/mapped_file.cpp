#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace lanewise {
namespace {

constexpr std::size_t first_buffer = std::size_t{1} << 16;

std::string system_text(int code) { return std::generic_category().message(code); }

Error io_error(const std::string& path, const char* action, int code) {
  return make_error(code == ENOENT || code == ENOTDIR ? LW_ERROR_NOT_FOUND : LW_ERROR_IO,
                    std::string("can't ") + action + " '" + path + "': " + system_text(code));
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  [[nodiscard]] int get() const { return value_; }

 private:
  int value_;
};

// A malloc'ed buffer that grows by realloc: for large blocks the system moves pages, not bytes.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(data_); }

  [[nodiscard]] bool resize(std::size_t size) {
    auto* const grown = static_cast<std::uint8_t*>(std::realloc(data_, std::max<std::size_t>(size, 1)));
    if (grown == nullptr) return false;
    data_ = grown;
    return true;
  }
  [[nodiscard]] std::uint8_t* data() const { return data_; }
  std::uint8_t* release() { return std::exchange(data_, nullptr); }

 private:
  std::uint8_t* data_ = nullptr;
};

std::uint64_t machine_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return UINT64_MAX;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
}

bool differs(std::string_view prefix, const std::uint8_t* data, std::size_t size) {
  return !prefix.starts_with({reinterpret_cast<const char*>(data), std::min(prefix.size(), size)});
}

// Reads to the end of `file`; `expected` bytes are announced (0: unknown).
Outcome read_all(int file, const std::string& path, const FileOptions& options, std::uint64_t expected, Buffer* buffer,
                 std::size_t* size) {
  const std::uint64_t limit =
      std::min<std::uint64_t>(options.read_limit != 0 ? options.read_limit : machine_memory(), SIZE_MAX - 1);
  const auto too_large = [&] {
    return make_error(LW_ERROR_MEMORY, "'" + path + "' holds more than the " + std::to_string(limit) +
                                           " bytes that may be read into memory");
  };
  if (expected > limit) return too_large();
  // One byte more than announced, so that the read that finds the end needs no further room.
  std::size_t room = std::max<std::size_t>(static_cast<std::size_t>(expected) + 1, first_buffer);
  room = static_cast<std::size_t>(std::min<std::uint64_t>(room, limit + 1));
  std::size_t used = 0;
  if (!buffer->resize(room)) return too_large();
  for (;;) {
    if (used == room) {
      if (room > limit) return too_large();
      room = static_cast<std::size_t>(std::min<std::uint64_t>(room > SIZE_MAX / 2 ? SIZE_MAX : room * 2, limit + 1));
      if (!buffer->resize(room)) {
        return make_error(LW_ERROR_MEMORY, "no memory to read '" + path + "' after " + std::to_string(used) + " bytes");
      }
    }
    // Linux moves at most 2^31 - 4096 bytes a call; a smaller step is portable.
    const ssize_t got = ::read(file, buffer->data() + used, std::min(room - used, std::size_t{1} << 30));
    if (got < 0) {
      if (errno == EINTR) continue;
      return io_error(path, "read", errno);
    }
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (differs(options.expected_prefix, buffer->data(), used)) break;
  }
  if (used > limit) return too_large();
  if (!buffer->resize(used)) return make_error(LW_ERROR_MEMORY, "no memory to read '" + path + "'");
  *size = used;
  return Done{};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path, const FileOptions& options) {
  int raw = -1;
  do {
    raw = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (raw < 0 && errno == EINTR);
  if (raw < 0) return io_error(path, "open", errno);
  const Descriptor file(raw);

  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) return io_error(path, "open", errno);
  if (S_ISDIR(facts.st_mode)) return make_error(LW_ERROR_IO, "'" + path + "' is a directory: name a file in it");

  const bool regular = S_ISREG(facts.st_mode);
  const std::uint64_t announced = regular && facts.st_size > 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
  MappedFile out;
  // An empty file can't be mapped, and some that report no size (in /proc) have contents: those are read.
  if (options.access != FileAccess::read && announced != 0) {
    if (announced > SIZE_MAX) return make_error(LW_ERROR_MEMORY, "'" + path + "' is too large for this system");
    const auto size = static_cast<std::size_t>(announced);
    void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (at != MAP_FAILED) {
      out.data_ = static_cast<const std::uint8_t*>(at);
      out.size_ = size;
      out.mapped_ = true;
      return out;
    }
    if (options.access == FileAccess::map) return io_error(path, "map", errno);
  } else if (options.access == FileAccess::map && !regular) {
    return make_error(LW_ERROR_IO, "'" + path + "' is no regular file and can't be mapped");
  }

  Buffer buffer;
  std::size_t size = 0;
  LW_TRY(read_all(file.get(), path, options, announced, &buffer, &size));
  out.size_ = size;
  out.data_ = buffer.release();
  return out;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, false)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

MappedFile::~MappedFile() {
  // Both calls take a pointer to mutable memory, though neither writes through it.
  auto* const at = const_cast<std::uint8_t*>(data_);
  if (mapped_) {
    ::munmap(at, size_);
  } else {
    std::free(at);
  }
}

}  // namespace lanewise
