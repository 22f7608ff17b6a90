#include "bench_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>

#include "arithmetic/columns.h"
#include "arithmetic/scalar.h"
#include "backends/cpu/cpu.h"
#include "bench_ceiling.h"
#include "bench_pace.h"
#include "exit_codes.h"
#include "harness/fill.h"
#include "kernels/kernel.h"
#include "kernels/shares.h"

namespace lanewise::program {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A round times a case for at least so long, over all copies; a slow kernel is cut off after the longer time, and goes
// on from the next copy in the next round.
constexpr double least_seconds = 0.01;
constexpr double most_seconds = 0.25;
constexpr int image_repeats = 9;
// At the processors' pace, a few milliseconds: moments without others are short.
constexpr int first_looks = 50;
// Rows compared after timing, spread over the matrix.
constexpr std::uint64_t checked_rows = 64;
// A line is what a prefetch fetches and a vector loads: copies and parts start at one.
constexpr std::uint64_t line = 64;
constexpr std::uint64_t align_up(std::uint64_t n) { return (n + line - 1) / line * line; }

struct Range {
  std::uint64_t begin;
  std::uint64_t end;
};
// Part `part` of `parts` of 0 .. total-1, in whole units.
Range range_of(std::uint64_t total, std::uint64_t unit, std::uint64_t part, std::uint64_t parts) {
  const std::uint64_t units = (total + unit - 1) / unit;
  return {std::min(units * part / parts * unit, total), std::min(units * (part + 1) / parts * unit, total)};
}

// A thread's share at a time, where that leaves each thread several.
constexpr std::uint64_t piece_bytes = std::uint64_t{512} << 10U;
constexpr std::uint64_t most_pieces = 64;

struct Window {
  Case problem;
  const KernelDesc* kernel = nullptr;
  std::unique_ptr<Activation> x;
  std::vector<float> y;
  double image_us = 0;
  std::vector<double> us;
  std::vector<double> fractions;
  std::vector<double> peer_us;
  std::vector<double> peer_fractions;
  std::vector<double> peer_ratios;
  PeerTime peer;
};

// (slowest - fastest) / median.
double spread_of(const std::vector<double>& us) {
  const auto [fastest, slowest] = std::ranges::minmax(us);
  return (slowest - fastest) / median(us);
}

// Makes the image that the kernel reads, so that no call has to.
void make_image(const Window& window) {
  const FormatInfo& info = format_info(window.problem.format);
  if (info.is_float()) return;  // a float format's is made at the first call, which isn't timed
  if (window.kernel->launch == &gemv_scalar) return;
  for (std::uint64_t first = 0; first < window.x->tokens(); first += slice_tokens) {
    (void)window.x->columns(first / slice_tokens);
  }
}

Result<Window> make_window(const BenchGroup& group, std::uint64_t tokens) {
  Window window;
  window.problem = group.problem;
  window.problem.tokens = tokens;
  LW_TRY(check_case(window.problem));
  const Case& c = window.problem;
  LW_ASSIGN(plan, select({c.format, c.rows, c.cols, tokens, c.planes, c.layout}, "cpu", cpu_capabilities(), c.kernel));
  window.kernel = plan.kernel;
  window.problem.kernel = plan.name;
  LW_ASSIGN(x, Activation::create(c.planes, tokens, c.cols));
  window.x = std::move(x);
  std::vector<float> values(tokens * c.cols);
  fill_x(c.format, tokens, c.cols, c.fill, c.seed, Dtype::f32, values.data());
  std::vector<double> took;
  for (int i = 0; i < image_repeats; ++i) {
    const auto start = Clock::now();
    LW_TRY(window.x->set({values.data(), Dtype::f32, tokens, c.cols, c.cols}));
    make_image(window);
    took.push_back(seconds_since(start) * 1e6);
  }
  window.image_us = median(took);
  window.y.resize(tokens * c.rows);
  return window;
}

class Group {
 public:
  Group(const BenchGroup& group, WalkedMemory& memory)
      : group_(group), memory_(memory), crew_(group.threads, group.spin), stride_(copy_stride(group.problem)) {}

  Result<BenchGroupTimes> run() {
    for (const std::uint64_t tokens : group_.tokens) {
      LW_ASSIGN(window, make_window(group_, tokens));
      windows_.push_back(std::move(window));
    }
    fill();
    for (Window& window : windows_) call(window);
    prepare_peer();
    for (int look = 0; look < first_looks; ++look) {
      result_.best_pace = std::max(result_.best_pace, look_at_pace(crew_));
    }
    for (unsigned round = 0; round < group_.rounds && !stop_asked; ++round) {
      const double ceiling = time_ceiling();
      result_.ceilings.push_back(ceiling);
      for (Window& window : windows_) {
        result_.paces.push_back(look_at_pace(crew_));
        result_.best_pace = std::max(result_.best_pace, result_.paces.back());
        const double us = time_window(window);
        window.us.push_back(us);
        window.fractions.push_back(gbps(us) / ceiling);
        time_peer(window, ceiling);
        if (stop_asked) break;
      }
    }
    if (!stop_asked) finish();
    return std::move(result_);
  }

 private:
  [[nodiscard]] double gbps(double us) const { return static_cast<double>(raw_.bytes()) / us / 1e3; }

  // The matrix in GGUF's bytes, to compare with, and as many copies in the layout as the memory holds.
  void fill() {
    const Case& c = group_.problem;
    raw_ = {c.format, c.rows, c.cols, nullptr};
    bytes_.resize(raw_.bytes());
    raw_.data = bytes_.data();
    crew_.run([&](std::uint32_t part) {
      const Range rows = range_of(c.rows, 1, part, crew_.threads());
      fill_weights(c.format, c.cols, c.fill, c.seed, rows.begin, rows.end, bytes_.data());
    });
    copies_ = group_.hot ? 1 : std::max<std::uint64_t>(1, memory_.size() / stride_);
    const std::uint64_t size = packed_bytes(c.layout, raw_);
    const std::uint64_t units = pack_units(c.layout, c.rows);
    std::memset(memory_.data() + size, 0, stride_ - size);
    crew_.run([&](std::uint32_t part) {
      const Range mine = range_of(units, 1, part, crew_.threads());
      pack_matrix(c.layout, raw_, mine.begin, mine.end, memory_.data());
    });
    crew_.run([&](std::uint32_t part) {
      const Range mine = range_of(stride_, line, part, crew_.threads());
      for (std::uint64_t copy = 1; copy < copies_; ++copy) {
        std::memcpy(memory_.data() + copy * stride_ + mine.begin, memory_.data() + mine.begin, mine.end - mine.begin);
      }
    });
    result_.copies = copies_;
    result_.threads = crew_.threads();
    result_.huge_pages = memory_.huge_fraction();
  }

  void call(Window& window) {
    MatrixView w = raw_;
    w.data = memory_.data() + next_copy_ * stride_;
    next_copy_ = (next_copy_ + 1) % copies_;
    const OutputView y{window.y.data(), Dtype::f32, raw_.rows};
    // As the library does: whoever is done helps the others. Halves fixed beforehand make the faster thread wait, on a
    // machine shared with others for a tenth of the call.
    const std::uint64_t pieces =
        std::clamp<std::uint64_t>(raw_.bytes() / piece_bytes, crew_.threads(), most_pieces * crew_.threads());
    PartShares shares(static_cast<std::uint32_t>(pieces), crew_.threads());
    crew_.run([&](std::uint32_t thread) {
      for (std::uint32_t piece = 0; shares.take(thread, piece);) {
        const Range rows = range_of(raw_.rows, window.kernel->tile.rows, piece, pieces);
        if (rows.begin >= rows.end) continue;
        if (group_.replacement) {
          group_.replacement(w, *window.x, y, rows.begin, rows.end);
        } else {
          window.kernel->launch(w, *window.x, y, rows.begin, rows.end);
        }
      }
    });
  }

  // Microseconds a call.
  double time_window(Window& window) {
    // So that outputs of an earlier round can't pass for this one's.
    std::memset(window.y.data(), 0xA5, window.y.size() * sizeof(float));
    const auto start = Clock::now();
    double took = 0;
    std::uint64_t calls = 0;
    do {
      call(window);
      ++calls;
      took = seconds_since(start);
    } while ((calls < copies_ || took < least_seconds) && took < most_seconds);
    return took * 1e6 / static_cast<double>(calls);
  }

  // Has the peer make its copies before the first round, and says early what it doesn't know.
  void prepare_peer() {
    for (Window& window : windows_) {
      if (group_.peer) ask_peer(window, [&]() -> Outcome { return Done{}; });
    }
  }

  // A round of the peer's. A window that it gave no figure for is left out from then on.
  void time_peer(Window& window, double ceiling) {
    if (!group_.peer || !window.peer.missing.empty()) return;
    ask_peer(window, [&]() -> Outcome {
      LW_ASSIGN(us, peer_->time_round());
      window.peer_us.push_back(us);
      window.peer_fractions.push_back(gbps(us) / ceiling);
      window.peer_ratios.push_back(us / window.us.back());
      return Done{};
    });
  }

  // With our threads asleep, as the peer's are at any other time. One that failed is started anew for the next window.
  template <class Then>
  void ask_peer(Window& window, const Then& then) {
    crew_.park();
    const auto ask = [&]() -> Outcome {
      if (peer_ == nullptr) {
        LW_ASSIGN(peer, Peer::start(*group_.peer));
        peer_ = std::move(peer);
      }
      const std::uint64_t bytes = group_.hot ? raw_.bytes() : copies_ * stride_;
      LW_ASSIGN(how, peer_->prepare(window.problem, crew_.threads(), bytes));
      window.peer.how = how;
      return then();
    };
    if (const Outcome outcome = ask(); !outcome) {
      window.peer.missing = outcome.error().message;
      if (outcome.error().code != LW_ERROR_UNSUPPORTED) peer_.reset();
    }
    crew_.wake();
    crew_.run([](std::uint32_t) {});  // so that no timed call waits for a thread to wake
  }

  // GB/s of the best loop over the same bytes with the same threads.
  double time_ceiling() {
    const std::uint64_t bytes = copies_ * stride_;
    double best = 0;
    for (const ReadLoop& loop : read_loops()) {
      const auto start = Clock::now();
      double took = 0;
      std::uint64_t sweeps = 0;
      do {
        crew_.run([&](std::uint32_t part) {
          const Range mine = range_of(bytes, line, part, crew_.threads());
          loop.read(memory_.data() + mine.begin, mine.end - mine.begin);
        });
        ++sweeps;
        took = seconds_since(start);
      } while (took < least_seconds);
      const double speed = static_cast<double>(bytes * sweeps) / took / 1e9;
      if (speed <= best) continue;
      best = speed;
      result_.best_loop = loop.name;
    }
    return best;
  }

  // The last call's outputs against the scalar kernel's, on rows spread over the matrix, first and last among them.
  void compare(const Window& window, BenchTime& time) const {
    std::vector<float> expected(window.y.size());
    const std::uint64_t count = std::min(checked_rows, raw_.rows);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t row = count == 1 ? 0 : i * (raw_.rows - 1) / (count - 1);
      gemv_scalar(raw_, *window.x, {expected.data(), Dtype::f32, raw_.rows}, row, row + 1);
      for (std::uint64_t token = 0; token < window.problem.tokens; ++token) {
        const std::uint64_t at = token * raw_.rows + row;
        ++time.compared;
        if (std::memcmp(&expected[at], &window.y[at], sizeof(float)) != 0) ++time.differing;
      }
    }
  }

  static PeerTime peer_time(const Window& window) {
    PeerTime time = window.peer;
    if (!time.missing.empty()) return time;
    time.median_us = median(window.peer_us);
    time.spread = spread_of(window.peer_us);
    time.fraction = median(window.peer_fractions);
    time.over_ours = median(window.peer_ratios);
    return time;
  }

  void finish() {
    for (const Window& window : windows_) {
      BenchTime time;
      time.problem = window.problem;
      time.kernel = std::string(window.kernel->name);
      time.hot = group_.hot;
      time.bytes = raw_.bytes();
      time.median_us = median(window.us);
      time.spread = spread_of(window.us);
      time.gbps = gbps(time.median_us);
      time.fraction = median(window.fractions);
      time.ceiling_gbps = median(result_.ceilings);
      time.over_first = result_.times.empty() ? 1 : time.median_us / result_.times.front().median_us;
      time.image_us = window.image_us;
      if (group_.peer) time.peer = peer_time(window);
      compare(window, time);
      result_.times.push_back(std::move(time));
    }
  }

  const BenchGroup& group_;
  WalkedMemory& memory_;
  Crew crew_;
  std::uint64_t stride_;
  std::uint64_t copies_ = 1;
  std::uint64_t next_copy_ = 0;
  std::vector<std::uint8_t> bytes_;
  MatrixView raw_;
  std::vector<Window> windows_;
  std::unique_ptr<Peer> peer_;
  BenchGroupTimes result_;
};

}  // namespace

std::uint64_t copy_stride(const Case& problem) {
  return align_up(packed_bytes(problem.layout, {problem.format, problem.rows, problem.cols, nullptr}));
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Result<BenchGroupTimes> time_group(const BenchGroup& group, WalkedMemory& memory) { return Group(group, memory).run(); }

}  // namespace lanewise::program
