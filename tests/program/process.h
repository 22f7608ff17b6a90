// Starts the program as a user would and gives back what it said.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lanewise::program_test {

enum : int { ok = 0, usage = 2, input = 3, unsupported = 4, io = 5 };  // exit codes

struct Finished {
  int code = -1;  ///< exit code; 128 + the signal that ended it
  std::string out;
  std::string err;
};

struct Start {
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to this process's own
  std::string stdout_path;                                       ///< instead of the captured one
  bool close_stdout = false;                                     ///< a pipe whose reader is gone
  int signal = 0;                ///< sent once the program has set up its signals and a moment has passed
  std::string signal_once{};     ///< a file that must be there before `signal` is sent
  bool ignore_signal = false;    ///< the program is started with `signal` ignored
  std::uint64_t file_limit = 0;  ///< RLIMIT_FSIZE; 0: none
  std::string stdin_path{};      ///< instead of this process's own
};

/// The program that this build made, with these arguments.
Finished run(const std::vector<std::string>& arguments, const Start& start = {});

/// A directory of its own, gone afterwards.
class Directory {
 public:
  Directory();
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::vector<std::string> entries() const;

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

}  // namespace lanewise::program_test
