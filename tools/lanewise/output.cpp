#include "output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "exit_codes.h"
#include "gguf/escape.h"

namespace lanewise::program {
namespace {

std::string system_text(int number) { return std::generic_category().message(number); }

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

namespace {

// Device and number of each file read.
std::vector<std::pair<dev_t, ino_t>>& inputs() {
  static std::vector<std::pair<dev_t, ino_t>> list;
  return list;
}

Error write_error(const std::string& path, int number) {
  const std::string name = path == "-" ? "the standard output" : "'" + gguf::escape_for_terminal(path, 300) + "'";
  const char* advice = number == ENOSPC ? "; free some room or write elsewhere, nothing was left behind" : "";
  return make_error(LW_ERROR_IO, "writing to " + name + " failed: " + system_text(number) + advice);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Where a name leads: links are followed, also one whose file isn't there yet.
std::string follow_links(std::string path) {
  constexpr int most_links = 40;
  for (int i = 0; i < most_links; ++i) {
    std::array<char, PATH_MAX> text{};
    const ssize_t length = ::readlink(path.c_str(), text.data(), text.size());
    if (length < 0 || static_cast<std::size_t>(length) == text.size()) break;
    const std::string target(text.data(), static_cast<std::size_t>(length));
    path = target.starts_with('/') ? target : folder_of(path).append("/").append(target);
  }
  return path;
}

// An output's place, looked at.
struct Place {
  std::string path;     // links followed
  bool exists = false;  // as a regular file
  bool in_place = false;
  mode_t mode = 0;
};

Result<Place> look_at(const std::string& path) {
  Place place;
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return write_error(path, EISDIR);
    place.in_place = !S_ISREG(status.st_mode);
    place.exists = !place.in_place;
    place.mode = status.st_mode;
    if (place.exists && std::ranges::count(inputs(), std::pair(status.st_dev, status.st_ino)) != 0) {
      return make_error(LW_ERROR_ARGUMENT, "'" + gguf::escape_for_terminal(path, 300) +
                                               "' is an input and would be replaced: name another output file");
    }
    // A file that is protected from writing is not to be replaced either, though its folder would allow it.
    if (::access(path.c_str(), W_OK) != 0) return write_error(path, errno);
  } else if (errno != ENOENT) {
    return write_error(path, errno);
  }
  place.path = place.in_place ? path : follow_links(path);
  if (!place.in_place && ::access(folder_of(place.path).c_str(), W_OK | X_OK) != 0) return write_error(path, errno);
  return place;
}

}  // namespace

void note_input(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0) inputs().emplace_back(status.st_dev, status.st_ino);
}

Outcome check_output(const std::string& path) {
  if (path == "-") return Done{};
  LW_TRY(look_at(path));
  return Done{};
}

Error FileSink::io_error(int number) const { return write_error(path_, number); }

Result<FileSink> FileSink::create(const std::string& path) {
  FileSink sink;
  sink.path_ = path;
  if (path == "-") {
    sink.descriptor_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (sink.descriptor_ < 0) return sink.io_error(errno);
    return sink;
  }
  LW_ASSIGN(place, look_at(path));
  if (place.in_place) {
    sink.descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (sink.descriptor_ < 0) return sink.io_error(errno);
    return sink;
  }
  sink.target_ = place.path;
  sink.temporary_ = sink.target_ + ".XXXXXX";
  sink.descriptor_ = ::mkostemp(sink.temporary_.data(), O_CLOEXEC);
  if (sink.descriptor_ < 0) {
    const int number = errno;
    sink.temporary_.clear();
    return sink.io_error(number);
  }
  set_unfinished_file(sink.temporary_);
  // mkostemp makes files for their owner alone: give the mode that an ordinary creation, or the old file, has.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const mode_t mode = place.exists ? place.mode & 07777u : 0666u & ~mask;
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
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  set_unfinished_file({});
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
  if (!temporary_.empty()) set_unfinished_file({});
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
