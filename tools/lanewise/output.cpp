#include "output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gguf/escape.h"

namespace lanewise::program {
namespace {

std::string system_text(int number) { return std::strerror(number); }

// 0, or the system's error number.
int write_all(int descriptor, const char* data, std::size_t bytes) {
  while (bytes != 0) {
    const ssize_t written = ::write(descriptor, data, bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    if (written == 0) return EIO;
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return 0;
}

}  // namespace

void Output::text(std::string_view text) {
  buffer_.append(text.data(), text.data() + text.size());
  if (buffer_.size() >= flush_at) write_buffer();
}

void Output::write_buffer() {
  if (error_ == 0) error_ = write_all(STDOUT_FILENO, buffer_.data(), buffer_.size());
  buffer_.clear();
}

Outcome Output::flush() {
  write_buffer();
  if (error_ == 0) return Done{};
  return make_error(LW_ERROR_IO, "writing to the standard output failed: " + system_text(error_));
}

Error FileSink::io_error(int number) const {
  const std::string name = path_ == "-" ? "the standard output" : "'" + gguf::escape_for_terminal(path_, 300) + "'";
  const char* advice = number == ENOSPC ? "; free some room or write elsewhere, nothing was left behind" : "";
  return make_error(LW_ERROR_IO, "writing to " + name + " failed: " + system_text(number) + advice);
}

Result<FileSink> FileSink::create(const std::string& path) {
  FileSink sink;
  sink.path_ = path;
  if (path == "-") {
    sink.descriptor_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (sink.descriptor_ < 0) return sink.io_error(errno);
    return sink;
  }
  struct stat status = {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    sink.descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (sink.descriptor_ < 0) return sink.io_error(errno);
    return sink;
  }
  sink.target_ = path;
  if (exists) {
    // A link stays a link: the file it leads to is replaced.
    if (char* resolved = ::realpath(path.c_str(), nullptr)) {
      sink.target_ = resolved;
      std::free(resolved);
    }
  }
  sink.temporary_ = sink.target_ + ".XXXXXX";
  sink.descriptor_ = ::mkostemp(sink.temporary_.data(), O_CLOEXEC);
  if (sink.descriptor_ < 0) {
    const int number = errno;
    sink.temporary_.clear();
    return sink.io_error(number);
  }
  // mkostemp makes files for their owner alone: give the mode that an ordinary creation, or the old file, has.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const mode_t mode = exists ? status.st_mode & 07777u : 0666u & ~mask;
  if (::fchmod(sink.descriptor_, mode) != 0) return sink.io_error(errno);
  return sink;
}

FileSink::FileSink(FileSink&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)) {
  other.temporary_.clear();
}

FileSink::~FileSink() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Outcome FileSink::write(const void* data, std::size_t bytes) {
  const int number = write_all(descriptor_, static_cast<const char*>(data), bytes);
  if (number != 0) return io_error(number);
  return Done{};
}

Outcome FileSink::commit() {
  // Some file systems report a full disk only when the data is forced out.
  if (!temporary_.empty() && ::fsync(descriptor_) != 0) return io_error(errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) return io_error(errno);
  if (!temporary_.empty() && ::rename(temporary_.c_str(), target_.c_str()) != 0) return io_error(errno);
  temporary_.clear();
  return Done{};
}

Outcome write_file(const std::string& path, std::string_view text) {
  LW_ASSIGN(sink, FileSink::create(path));
  LW_TRY(sink.write(text.data(), text.size()));
  return sink.commit();
}

Progress::Progress(bool quiet) : enabled_(!quiet && ::isatty(STDERR_FILENO) == 1) {}

void Progress::show(std::uint64_t done, std::uint64_t total, std::string_view what) {
  if (!enabled_) return;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const std::int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  if (shown_ && ms - last_ms_ < 100) return;
  last_ms_ = ms;
  shown_ = true;
  std::fprintf(stderr, "\r\033[K[%llu/%llu] %s", static_cast<unsigned long long>(done),
               static_cast<unsigned long long>(total), gguf::escape_for_terminal(what, 60).c_str());
}

void Progress::clear() {
  if (!shown_) return;
  shown_ = false;
  std::fputs("\r\033[K", stderr);
}

std::string human_bytes(std::uint64_t bytes) {
  static constexpr const char* units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < std::size(units)) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string grouped(std::uint64_t value) {
  std::string digits = fmt::format("{}", value);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

}  // namespace lanewise::program
