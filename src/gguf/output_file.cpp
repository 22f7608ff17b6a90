#include "gguf/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace lanewise::gguf {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 18;

Error write_error(const std::string& path, const char* action, int code) {
  return make_error(LW_ERROR_IO, std::string("can't ") + action + " '" + path +
                                     "': " + std::generic_category().message(code) + "; no file is left");
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path) {
  // Renamed over a device, a pipe or a folder, the file would take its place.
  struct stat present = {};
  if (::stat(path.c_str(), &present) == 0 && !S_ISREG(present.st_mode)) {
    return make_error(LW_ERROR_IO, "'" + path + "' is there and is no regular file: choose another name");
  }
  OutputFile out;
  out.path_ = path;
  do {
    out.file_ = ::open(out.partial().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  } while (out.file_ < 0 && errno == EINTR);
  if (out.file_ < 0) return write_error(out.partial(), "create", errno);
  out.buffer_.reserve(buffer_bytes);
  return out;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      committed_(std::exchange(other.committed_, false)),
      buffer_(std::move(other.buffer_)) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(committed_, other.committed_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::discard() {
  if (file_ < 0) return;
  ::close(std::exchange(file_, -1));
  ::unlink(partial().c_str());
}

Outcome OutputFile::put(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file_, bytes.data(), std::min(bytes.size(), std::size_t{1} << 30));
    if (wrote < 0) {
      if (errno == EINTR) continue;
      const int code = errno;
      discard();
      return write_error(path_, "write", code);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
  return Done{};
}

Outcome OutputFile::flush() {
  LW_TRY(put(buffer_));
  buffer_.clear();
  return Done{};
}

Outcome OutputFile::write(std::span<const std::uint8_t> bytes) {
  if (file_ < 0) return make_error(LW_ERROR_IO, "'" + path_ + "' is closed");
  if (bytes.size() >= buffer_bytes) {
    LW_TRY(flush());
    return put(bytes);
  }
  if (buffer_.size() + bytes.size() > buffer_bytes) LW_TRY(flush());
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return Done{};
}

Outcome OutputFile::commit() {
  if (file_ < 0) return make_error(LW_ERROR_IO, "'" + path_ + "' is closed");
  LW_TRY(flush());
  // Some file systems tell of a full disk only now.
  if (::close(std::exchange(file_, -1)) != 0) {
    const int code = errno;
    ::unlink(partial().c_str());
    return write_error(path_, "close", code);
  }
  if (std::rename(partial().c_str(), path_.c_str()) != 0) {
    const int code = errno;
    ::unlink(partial().c_str());
    return write_error(path_, "rename to", code);
  }
  committed_ = true;
  return Done{};
}

void OutputFile::revoke() {
  discard();
  if (std::exchange(committed_, false)) ::unlink(path_.c_str());
}

}  // namespace lanewise::gguf
