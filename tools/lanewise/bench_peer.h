// Another implementation, timed on the same cases beside ours: a program of its own, asked in lines over its standard
// input and output (bench/peers/README.md has the protocol) and stopped while ours runs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "harness/case.h"

namespace lanewise::program {

struct PeerOptions {
  std::string program;  ///< a path, or a name to look up in PATH
  std::vector<std::string> arguments;
  std::chrono::milliseconds patience{60'000};  ///< for one answer
};

/// As it introduces itself; every text of a peer's is escaped for a terminal.
struct PeerName {
  std::string name;
  std::string version;
  std::string about;
};

/// A running peer. The process and all that it starts, one group, run only while an answer is waited for, and are
/// killed with this object.
class Peer {
 public:
  /// Errors: LW_ERROR_NOT_FOUND (no such program), LW_ERROR_IO (it can't be run, or doesn't introduce itself in time).
  static Result<std::unique_ptr<Peer>> start(const PeerOptions& options);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] const PeerName& name() const { return name_; }

  /// Has it make `bytes` of copies of a matrix ready, and x; the text is how it holds them. Errors:
  /// LW_ERROR_UNSUPPORTED where it says that it has no such case; LW_ERROR_IO where it died, was silent for too long or
  /// broke the protocol, after which it is of no more use.
  Result<std::string> prepare(const Case& problem, unsigned threads, std::uint64_t bytes);
  /// Microseconds a call, of what was prepared last. Errors as above.
  Result<double> time_round();

 private:
  using Clock = std::chrono::steady_clock;

  explicit Peer(const PeerOptions& options) : options_(options) {}
  Outcome spawn();
  Outcome introduce();
  Result<std::string> ask(const std::string& question);
  Result<std::string> read_line(const std::string& question);
  Outcome stop();
  [[nodiscard]] Error broken(const std::string& what) const;
  [[nodiscard]] Error ended() const;
  [[nodiscard]] Error nonsense(const std::string& question, const std::string& answer) const;

  PeerOptions options_;
  PeerName name_;
  pid_t process_ = -1;  // and its group's number
  int to_ = -1;
  int from_ = -1;
  std::string unread_;
};

}  // namespace lanewise::program
