#include "bench_peer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "exit_codes.h"
#include "formats/formats.h"
#include "gguf/escape.h"

namespace lanewise::program {
namespace {

constexpr std::string_view protocol = "1";
constexpr std::size_t longest_line = 1000;
constexpr std::size_t longest_shown = 200;
constexpr int poll_ms = 50;  // how soon a signal to stop is seen
// What a peer that has closed its output is given to end, so that the reason can be told.
constexpr std::chrono::milliseconds ending{2000};

std::string shown(std::string_view text) { return gguf::escape_for_terminal(text, longest_shown); }

// The next word, off the front of `text`; empty at its end.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

template <class Number>
bool parse_all(std::string_view text, Number* number) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, *number);
  return parsed.ec == std::errc{} && parsed.ptr == end;
}

void close_once(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

// Calls allowed between fork and exec alone. Tells the reason over `reasons` where it fails.
[[noreturn]] void become(char* const* words, int in, int out, int reasons) {
  ::setpgid(0, 0);
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  ::signal(SIGPIPE, SIG_DFL);
  if (::dup2(in, STDIN_FILENO) >= 0 && ::dup2(out, STDOUT_FILENO) >= 0) ::execvp(words[0], words);
  const int reason = errno;
  const ssize_t told = ::write(reasons, &reason, sizeof(reason));
  ::_exit(told == sizeof(reason) ? 127 : 126);
}

}  // namespace

Result<std::unique_ptr<Peer>> Peer::start(const PeerOptions& options) {
  std::unique_ptr<Peer> peer(new Peer(options));
  LW_TRY(peer->spawn());
  LW_TRY(peer->introduce());
  return peer;
}

Peer::~Peer() {
  if (process_ > 0) {
    ::kill(-process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  close_once(to_);
  close_once(from_);
}

Outcome Peer::spawn() {
  // A socket, so that writing to a peer that is gone is an error and no signal.
  std::array<int, 2> in{-1, -1};
  std::array<int, 2> out{-1, -1};
  std::array<int, 2> reasons{-1, -1};
  const bool piped = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in.data()) == 0 &&
                     ::pipe2(out.data(), O_CLOEXEC) == 0 && ::pipe2(reasons.data(), O_CLOEXEC) == 0;
  std::vector<std::string> words{options_.program};
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  process_ = piped ? ::fork() : -1;
  if (process_ == 0) become(argv.data(), in[1], out[1], reasons[1]);
  int reason = process_ < 0 ? errno : 0;
  // Here too: whoever comes first. Fails harmlessly once the program runs.
  if (process_ > 0) ::setpgid(process_, process_);
  for (int* end : {&in[1], &out[1], &reasons[1]}) close_once(*end);
  to_ = std::exchange(in[0], -1);
  from_ = std::exchange(out[0], -1);
  if (process_ > 0) {
    while (::read(reasons[0], &reason, sizeof(reason)) < 0 && errno == EINTR) {
    }
  }
  close_once(reasons[0]);
  if (reason == 0) return Done{};
  return make_error(
      reason == ENOENT ? LW_ERROR_NOT_FOUND : LW_ERROR_IO,
      fmt::format("peer '{}' can't be started: {}", shown(options_.program), std::generic_category().message(reason)));
}

Outcome Peer::introduce() {
  const std::string question = fmt::format("hello {}", protocol);
  LW_ASSIGN(answer, ask(question));
  std::string_view rest = answer;
  const bool greeted = take_word(rest) == "hello" && take_word(rest) == protocol;
  name_.name = shown(take_word(rest));
  name_.version = shown(take_word(rest));
  name_.about = shown(rest);
  if (greeted && !name_.name.empty() && !name_.version.empty()) return Done{};
  return nonsense(question, answer);
}

Result<std::string> Peer::prepare(const Case& problem, unsigned threads, std::uint64_t bytes) {
  const std::string question = fmt::format("case {} {} {} {} {} {}", format_info(problem.format).name, problem.cols,
                                           problem.rows, problem.tokens, threads, bytes);
  LW_ASSIGN(answer, ask(question));
  std::string_view rest = answer;
  const std::string_view verdict = take_word(rest);
  if (verdict == "ok") return shown(rest);
  if (verdict == "unsupported") return make_error(LW_ERROR_UNSUPPORTED, shown(rest.empty() ? answer : rest));
  return nonsense(question, answer);
}

Result<double> Peer::time_round() {
  const auto start = Clock::now();
  LW_ASSIGN(answer, ask("round"));
  const double passed = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  std::string_view rest = answer;
  const std::string_view verdict = take_word(rest);
  if (verdict == "unsupported") return make_error(LW_ERROR_UNSUPPORTED, shown(rest.empty() ? answer : rest));
  std::uint64_t calls = 0;
  double took = 0;
  const bool told = verdict == "time" && parse_all(take_word(rest), &calls) && parse_all(take_word(rest), &took);
  // No more than what passed here: whatever else it counts, it isn't these calls.
  if (told && rest.empty() && calls > 0 && std::isfinite(took) && took > 0 && took <= passed) {
    return took / static_cast<double>(calls);
  }
  return nonsense("round", answer);
}

Result<std::string> Peer::ask(const std::string& question) {
  // An answer that nobody asked for would be taken for this one's.
  pollfd waiting{from_, POLLIN, 0};
  if (!unread_.empty() || (::poll(&waiting, 1, 0) > 0 && (waiting.revents & POLLIN) != 0)) {
    return broken("spoke without being asked");
  }
  ::kill(-process_, SIGCONT);
  const std::string line = question + "\n";
  // Questions are short: what the socket doesn't take at once, it takes from nobody who reads.
  const ssize_t sent = ::send(to_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(line.size())) return ended();
  LW_ASSIGN(answer, read_line(question));
  LW_TRY(stop());
  return std::move(answer);
}

Result<std::string> Peer::read_line(const std::string& question) {
  const auto deadline = Clock::now() + options_.patience;
  for (;;) {
    if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    if (unread_.size() > longest_line) return nonsense(question, unread_);
    if (stop_asked) return broken("was not waited for");
    if (Clock::now() >= deadline) {
      return broken(fmt::format("didn't answer '{}' within {} s", question,
                                std::chrono::duration<double>(options_.patience).count()));
    }
    pollfd waiting{from_, POLLIN, 0};
    if (::poll(&waiting, 1, poll_ms) <= 0) continue;
    std::array<char, 512> buffer;
    const ssize_t got = ::read(from_, buffer.data(), buffer.size());
    if (got > 0) unread_.append(buffer.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) return ended();
  }
}

// Returns when no thread of the process runs any more. It may have been about to end: then the next question tells.
Outcome Peer::stop() {
  if (::kill(-process_, SIGSTOP) != 0) return ended();
  siginfo_t info{};
  // WNOWAIT would leave the news of this stop to be taken for that of the next one; the end of the process stays.
  while (::waitid(P_PID, static_cast<id_t>(process_), &info, WSTOPPED | WEXITED | WNOWAIT) < 0) {
    if (errno != EINTR) return ended();
  }
  if (info.si_code == CLD_STOPPED) ::waitid(P_PID, static_cast<id_t>(process_), &info, WSTOPPED | WNOHANG);
  return Done{};
}

Error Peer::broken(const std::string& what) const {
  return make_error(LW_ERROR_IO, fmt::format("peer '{}' {}", shown(options_.program), what));
}

Error Peer::ended() const {
  siginfo_t info{};
  const auto deadline = Clock::now() + ending;
  do {
    info.si_pid = 0;
    if (::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) break;
    if (info.si_pid != 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  } while (Clock::now() < deadline);
  if (info.si_pid == 0) return broken("closed its output");
  if (info.si_code == CLD_EXITED) return broken(fmt::format("ended with exit code {}", info.si_status));
  const char* text = ::strsignal(info.si_status);  // NOLINT(concurrency-mt-unsafe): no other thread asks for one
  return broken(fmt::format("was killed by signal {} ({})", info.si_status, text));
}

Error Peer::nonsense(const std::string& question, const std::string& answer) const {
  return broken(fmt::format("answered '{}' with '{}'", question, shown(answer)));
}

}  // namespace lanewise::program
