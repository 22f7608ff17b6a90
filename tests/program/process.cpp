#include "program/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace lanewise::program_test {
namespace {

// Reads both pipes until both are closed: a full one would stop the program.
void drain(std::array<int, 2> pipes, std::array<std::string*, 2> texts) {
  std::array<pollfd, 2> waiting{pollfd{pipes[0], POLLIN, 0}, pollfd{pipes[1], POLLIN, 0}};
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) throw std::runtime_error("poll");
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
      std::array<char, 4096> buffer;
      const ssize_t got = ::read(waiting[i].fd, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got > 0) {
        texts[i]->append(buffer.data(), static_cast<std::size_t>(got));
      } else {
        ::close(waiting[i].fd);
        waiting[i].fd = -1;
      }
    }
  }
}

// Waits until the process handles SIGTERM, which the program asks for together with the rest.
void wait_for_handlers(pid_t child) {
  const std::string path = "/proc/" + std::to_string(child) + "/status";
  for (int i = 0; i < 2000; ++i) {
    std::ifstream status(path);
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("SigCgt:")) continue;
      if ((std::stoull(line.substr(7), nullptr, 16) >> (SIGTERM - 1) & 1U) != 0) return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  throw std::runtime_error("the program never set up its signals");
}

// Waits until the program, which goes on meanwhile, has made a file.
void wait_for_file(const std::string& path) {
  for (int i = 0; i < 6000; ++i) {
    if (std::filesystem::exists(path)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  throw std::runtime_error("the program never made " + path);
}

}  // namespace

Finished run(const std::vector<std::string>& arguments, const Start& start) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (::pipe2(out.data(), O_CLOEXEC) != 0 || ::pipe2(err.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  std::vector<std::string> words{LANEWISE_PROGRAM_FILE};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  if (start.close_stdout) ::close(out[0]);

  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) {
    if (!start.stdin_path.empty()) {
      const int source = ::open(start.stdin_path.c_str(), O_RDONLY);
      if (source < 0 || ::dup2(source, STDIN_FILENO) < 0) ::_exit(126);
    }
    const int target = start.stdout_path.empty() ? out[1] : ::open(start.stdout_path.c_str(), O_WRONLY);
    if (target < 0 || ::dup2(target, STDOUT_FILENO) < 0 || ::dup2(err[1], STDERR_FILENO) < 0) ::_exit(126);
    // This process may have been started with some ignored.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) {
      std::signal(signal, start.ignore_signal && signal == start.signal ? SIG_IGN : SIG_DFL);
    }
    const rlimit limit{start.file_limit, start.file_limit};
    if (start.file_limit != 0 && ::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(125);
    ::unsetenv("LANEWISE_ISA");
    for (const auto& [key, value] : start.environment) ::setenv(key.c_str(), value.c_str(), 1);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(out[1]);
  ::close(err[1]);
  if (start.signal != 0) {
    wait_for_handlers(child);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (!start.signal_once.empty()) wait_for_file(start.signal_once);
    ::kill(child, start.signal);
  }
  Finished result;
  drain({start.close_stdout ? -1 : out[0], err[0]}, {&result.out, &result.err});
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

Directory::Directory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "lanewise-program-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = pattern;
}

Directory::~Directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> Directory::entries() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("writing " + path);
}

}  // namespace lanewise::program_test
