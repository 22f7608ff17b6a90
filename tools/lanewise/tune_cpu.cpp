// Tuning on the CPU: products as lw_gemv() makes them, on threads that sleep between calls.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "arithmetic/columns.h"
#include "arithmetic/scalar.h"
#include "backends/cpu/cpu.h"
#include "backends/cpu/pool.h"
#include "bench_machine.h"
#include "kernels/parts.h"
#include "tune_device.h"

namespace lanewise::program {
namespace tuning_on_cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t line = 64;
constexpr std::uint64_t least_walked = std::uint64_t{1} << 30;
constexpr std::uint64_t caches_walked = 4;
constexpr double usual_timing_seconds = 0.006;
constexpr std::uint64_t most_calls = 10000;  // in one time
constexpr std::uint64_t align_up(std::uint64_t bytes) { return (bytes + line - 1) / line * line; }

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Steps a second of a chain that nothing but the clock can speed up: the best of three short ones.
double clock_speed() {
  constexpr int steps = 20000;
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const auto start = Clock::now();
    std::uint64_t value = 1;
    for (int step = 0; step < steps; ++step) {
      value = value * 0x9E3779B97F4A7C15U + 1;
      asm volatile("" : "+r"(value));
    }
    best = std::max(best, steps / seconds_since(start));
  }
  return best;
}

std::uint64_t bytes_of(const MatrixWish& wish) { return align_up(packed_bytes(wish.layout, wish.view())); }

// Copies of one matrix, one after another.
struct Copies {
  MatrixView shape;
  std::uint8_t* data = nullptr;
  std::uint64_t stride = 0;
  std::uint64_t count = 1;

  [[nodiscard]] MatrixView at(std::uint64_t copy) const {
    MatrixView w = shape;
    w.data = data + copy * stride;
    return w;
  }
};

// Makes as many copies as `room` bytes at `memory` hold.
Result<Copies> make_copies(const BaseMatrix& base, std::uint8_t* memory, std::uint64_t room, Pool& pool) {
  const MatrixWish& wish = base.wish();
  Copies copies{wish.view(), memory, bytes_of(wish), 1};
  copies.count = std::max<std::uint64_t>(1, room / copies.stride);
  if (copies.stride > room) return make_error(LW_ERROR_MEMORY, "no room for one copy of the matrix");
  const std::uint64_t size = packed_bytes(wish.layout, wish.view());
  std::memset(memory + size, 0, copies.stride - size);
  if (wish.layout == Layout::raw) {
    base.copy_rows(0, wish.rows, memory);
  } else {
    std::vector<std::uint8_t> raw(wish.view().bytes());
    base.copy_rows(0, wish.rows, raw.data());
    MatrixView view = wish.view();
    view.data = raw.data();
    cpu_pack(cpu_capabilities(), wish.layout, view, 0, pack_units(wish.layout, wish.rows), memory);
  }
  struct Call {
    const Copies& copies;
    std::uint32_t parts;
  } call{copies, pool.threads()};
  pool.run(
      call.parts,
      [](void* context, std::uint32_t part) {
        const auto& [all, parts] = *static_cast<const Call*>(context);
        const RowRange mine = range_of(all.stride / line, part, parts);
        for (std::uint64_t copy = 1; copy < all.count; ++copy) {
          std::memcpy(all.data + copy * all.stride + mine.begin * line, all.data + mine.begin * line,
                      (mine.end - mine.begin) * line);
        }
      },
      &call);
  return copies;
}

// Something to multiply with, and where the product goes.
struct Input {
  std::unique_ptr<Activation> x;
  std::vector<float> y;

  static Result<Input> make(const MatrixWish& wish, Planes planes, std::uint64_t tokens) {
    Input input;
    std::vector<float> values;
    LW_ASSIGN(x, make_activation(wish, planes, tokens, values));
    input.x = std::move(x);
    input.y.resize(tokens * wish.rows);
    if (format_info(wish.format).is_float()) return input;  // its image is made by the first, unmeasured product
    for (std::uint64_t first = 0; first < tokens; first += slice_tokens) (void)input.x->columns(first / slice_tokens);
    return input;
  }
};

// Calls that make one time.
template <class Call>
std::uint64_t calls_for(double timing, const Call& call) {
  call();
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto start = Clock::now();
    call();
    least = std::min(least, seconds_since(start));
  }
  return static_cast<std::uint64_t>(std::clamp(std::ceil(timing / least), 1.0, double{most_calls}));
}

// One product, as a pool's parts.
struct Product {
  MatrixView w;
  const Activation* x;
  OutputView y;
  const KernelDesc* kernel;
  std::uint32_t ahead;
  std::uint32_t parts;

  void run(std::uint32_t part) const {
    const RowRange rows = whole_tiles(*kernel, range_of(w.rows, part, parts), w.rows);
    if (rows.begin < rows.end) cpu_launch(*kernel, ahead, w, *x, y, rows.begin, rows.end);
  }
};

struct Both {
  const Product* first;
  const Product* second;
};

class CpuWindow final : public tune::Subject {
 public:
  CpuWindow(const BaseMatrix& base, const Copies& copies, const tune::Machine& machine, Pool& pool, double timing)
      : base_(base), copies_(copies), machine_(machine), pool_(pool), timing_(timing) {}

  Outcome prepare(std::uint64_t tokens, Planes planes, std::vector<tune::Candidate> candidates) {
    const MatrixWish& wish = base_.wish();
    candidates_ = std::move(candidates);
    problem_ = {wish.format, wish.rows, wish.cols, tokens, planes, wish.layout};
    LW_ASSIGN(input, Input::make(wish, planes, tokens));
    input_ = std::move(input);
    expected_ = base_.expected(*input_.x, machine_.threads);
    return Done{};
  }
  // `beside`: copies of the large matrix, which is multiplied by its default in the same call.
  Outcome put_beside(const MatrixWish& wish, const Copies& beside, Planes planes, std::uint64_t tokens) {
    const Problem problem{wish.format, wish.rows, wish.cols, tokens, planes, wish.layout};
    LW_ASSIGN(plan, select(problem, "cpu", machine_.capabilities));
    LW_ASSIGN(input, Input::make(wish, planes, tokens));
    beside_input_ = std::move(input);
    beside_ = beside;
    large_ = {beside_.shape,
              beside_input_.x.get(),
              {beside_input_.y.data(), Dtype::f32, wish.rows},
              plan.kernel,
              0,
              tune::parts_of(machine_, problem, {})};
    return Done{};
  }

  Result<Verified> verify(std::size_t candidate) override {
    std::memset(input_.y.data(), 0xA5, input_.y.size() * sizeof(float));
    call(candidate, 0);
    const std::uint64_t wrong = base_.count_wrong(expected_, input_.y.data(), problem_.tokens);
    return Verified{input_.y.size(), wrong};
  }

  Result<double> time(std::size_t candidate, bool hot) override {
    if (calls_ == 0) {
      calls_ = calls_for(timing_, [this] { call(0, next_copy()); });
    }
    const auto start = Clock::now();
    for (std::uint64_t i = 0; i < calls_; ++i) call(candidate, hot ? 0 : next_copy());
    return seconds_since(start) * 1e6 / static_cast<double>(calls_);
  }

  double speed() override { return clock_speed(); }

 private:
  std::uint64_t next_copy() {
    next_ = (next_ + 1) % copies_.count;
    return next_;
  }

  void call(std::size_t candidate, std::uint64_t copy) {
    const tune::Candidate& tile = candidates_[candidate];
    const Product product{copies_.at(copy), input_.x.get(),     {input_.y.data(), Dtype::f32, problem_.rows},
                          tile.kernel,      tile.setting.ahead, tune::parts_of(machine_, problem_, tile.setting)};
    if (large_.kernel == nullptr) {
      pool_.run(
          product.parts, [](void* context, std::uint32_t part) { static_cast<const Product*>(context)->run(part); },
          const_cast<Product*>(&product));
      return;
    }
    large_.w = beside_.at(copy % beside_.count);
    Both both{&large_, &product};
    pool_.run(
        large_.parts + product.parts,
        [](void* context, std::uint32_t part) {
          const auto& [first, second] = *static_cast<const Both*>(context);
          part < first->parts ? first->run(part) : second->run(part - first->parts);
        },
        &both);
  }

  const BaseMatrix& base_;
  const Copies& copies_;
  tune::Machine machine_;
  Pool& pool_;
  double timing_;
  std::vector<tune::Candidate> candidates_;
  Problem problem_{};
  Input input_;
  std::vector<float> expected_;
  Copies beside_;
  Input beside_input_;
  Product large_{};
  std::uint64_t calls_ = 0;
  std::uint64_t next_ = 0;
};

class CpuMatrix final : public TuneMatrix {
 public:
  CpuMatrix(const MatrixWish& wish, Planes planes, const tune::Machine& machine, Pool& pool, double timing)
      : base_(wish), planes_(planes), machine_(machine), pool_(pool), timing_(timing) {}

  Outcome fill(WalkedMemory& memory, const std::optional<BesideWish>& beside) {
    // Of two matrices each has its share of the room.
    std::uint64_t room = memory.size();
    if (beside) {
      const MatrixWish& mine = base_.wish();
      const FormatInfo& info = format_info(beside->format);
      large_ = MatrixWish{beside->format, beside->rows, mine.cols,
                          has_layout(mine.layout, info) ? mine.layout : Layout::raw, mine.seed + 1};
      const std::uint64_t both = bytes_of(mine) + bytes_of(*large_);
      const std::uint64_t count = std::max<std::uint64_t>(1, room / both);
      const std::uint64_t theirs = count * bytes_of(*large_);
      if (both > room) return make_error(LW_ERROR_MEMORY, "no room for one copy of both matrices");
      const BaseMatrix base(*large_);
      LW_ASSIGN(copies, make_copies(base, memory.data() + room - theirs, theirs, pool_));
      beside_ = copies;
      room = count * bytes_of(mine);
    }
    LW_ASSIGN(copies, make_copies(base_, memory.data(), room, pool_));
    copies_ = copies;
    return Done{};
  }

  Result<std::unique_ptr<tune::Subject>> window(std::uint64_t tokens,
                                                std::vector<tune::Candidate> candidates) override {
    auto made = std::make_unique<CpuWindow>(base_, copies_, machine_, pool_, timing_);
    LW_TRY(made->prepare(tokens, planes_, std::move(candidates)));
    if (large_) LW_TRY(made->put_beside(*large_, beside_, planes_, tokens));
    return std::unique_ptr<tune::Subject>(std::move(made));
  }

 private:
  BaseMatrix base_;
  Planes planes_;
  tune::Machine machine_;
  Pool& pool_;
  double timing_;
  Copies copies_;
  std::optional<MatrixWish> large_;
  Copies beside_;
};

// Several matrices: a call each, or one call over all their rows, as lw_gemv_group() makes it.
class CpuTogether final : public tune::Subject {
 public:
  CpuTogether(const tune::Machine& machine, Pool& pool, double timing)
      : machine_(machine), pool_(pool), timing_(timing) {}

  Outcome prepare(const std::vector<MatrixWish>& wishes, Planes planes, std::uint64_t tokens, WalkedMemory& memory) {
    std::uint64_t one = 0;
    for (const MatrixWish& wish : wishes) one += bytes_of(wish);
    if (one == 0 || one > memory.size()) {
      return make_error(LW_ERROR_MEMORY, "no room for one copy of all the matrices");
    }
    copies_ = memory.size() / one;
    const MatrixWish& first = wishes.front();
    LW_ASSIGN(shared, Input::make(first, planes, tokens));
    x_ = std::move(shared.x);
    std::uint8_t* at = memory.data();
    std::uint64_t all_bytes = 0;
    for (const MatrixWish& wish : wishes) {
      Member member{BaseMatrix(wish), {}, {}, {}, {}};
      const std::uint64_t room = copies_ * bytes_of(wish);
      LW_ASSIGN(copies, make_copies(member.base, at, room, pool_));
      member.copies = copies;
      at += room;
      member.expected = member.base.expected(*x_, machine_.threads);
      member.y.resize(tokens * wish.rows);
      const Problem problem{wish.format, wish.rows, wish.cols, tokens, planes, wish.layout};
      LW_ASSIGN(plan, select(problem, "cpu", machine_.capabilities));
      member.product = {member.copies.shape, x_.get(), {nullptr, Dtype::f32, wish.rows},
                        plan.kernel,         0,        tune::parts_of(machine_, problem, {})};
      rows_ += wish.rows;
      all_bytes += wish.view().bytes();
      members_.push_back(std::move(member));
    }
    for (Member& member : members_) member.product.y.data = member.y.data();
    parts_ = count_parts(rows_, all_bytes, tokens, most_parts(machine_.threads));
    return Done{};
  }

  Result<Verified> verify(std::size_t candidate) override {
    for (Member& member : members_) std::memset(member.y.data(), 0xA5, member.y.size() * sizeof(float));
    call(candidate, 0);
    Verified verified;
    for (const Member& member : members_) {
      verified.values += member.y.size();
      verified.differing += member.base.count_wrong(member.expected, member.y.data(), x_->tokens());
    }
    return verified;
  }

  Result<double> time(std::size_t candidate, bool hot) override {
    const auto next = [&] { return hot ? 0 : ++next_ % copies_; };
    if (calls_ == 0) {
      calls_ = calls_for(timing_, [&] { call(0, next()); });
    }
    const auto start = Clock::now();
    for (std::uint64_t i = 0; i < calls_; ++i) call(candidate, next());
    return seconds_since(start) * 1e6 / static_cast<double>(calls_);
  }

  double speed() override { return clock_speed(); }

 private:
  struct Member {
    BaseMatrix base;
    Copies copies;
    std::vector<float> expected;
    std::vector<float> y;
    Product product;
  };

  void call(std::size_t candidate, std::uint64_t copy) {
    for (Member& member : members_) member.product.w = member.copies.at(copy);
    if (candidate == 1) {
      pool_.run(
          parts_, [](void* context, std::uint32_t part) { static_cast<CpuTogether*>(context)->run(part); }, this);
      return;
    }
    for (Member& member : members_) {
      pool_.run(
          member.product.parts,
          [](void* context, std::uint32_t part) { static_cast<const Product*>(context)->run(part); }, &member.product);
    }
  }

  void run(std::uint32_t part) const {
    const RowRange mine = range_of(rows_, part, parts_);
    std::uint64_t first = 0;
    for (const Member& member : members_) {
      const Product& p = member.product;
      const std::uint64_t end = first + p.w.rows;
      const RowRange here{std::clamp(mine.begin, first, end) - first, std::clamp(mine.end, first, end) - first};
      const RowRange rows = whole_tiles(*p.kernel, here, p.w.rows);
      if (rows.begin < rows.end) cpu_launch(*p.kernel, 0, p.w, *p.x, p.y, rows.begin, rows.end);
      first = end;
    }
  }

  tune::Machine machine_;
  Pool& pool_;
  double timing_;
  std::unique_ptr<Activation> x_;
  std::vector<Member> members_;
  std::uint64_t rows_ = 0;
  std::uint32_t parts_ = 1;
  std::uint64_t copies_ = 1;
  std::uint64_t calls_ = 0;
  std::uint64_t next_ = 0;
};

class TuneCpu final : public TuneDevice {
 public:
  TuneCpu(unsigned threads, const TuneDeviceOptions& options) : options_(options), pool_(threads) {}

  [[nodiscard]] tune::Machine machine() const override {
    return {"cpu", cpu_capabilities(), nullptr, pool_.threads(), 10};
  }
  [[nodiscard]] Layout usual_layout(const FormatInfo& info) const override {
    const Problem problem{info.format, 16, super_block, 1, Planes::x16, Layout::rows16};
    const bool packs = has_layout(Layout::rows16, info) && find_kernel(problem, "cpu", cpu_capabilities()) != nullptr;
    return packs ? Layout::rows16 : Layout::raw;
  }
  [[nodiscard]] tune::Limits limits() const override { return {}; }

  Outcome choose_memory(const std::vector<MatrixWish>& wishes) override {
    const std::uint64_t available = available_memory();
    std::uint64_t walked = options_.bytes;
    if (walked == 0) {
      walked = std::max(least_walked, caches_walked * last_cache_bytes());
      if (available != 0) walked = std::min(walked, available / 4);
    }
    for (const MatrixWish& wish : wishes) walked = std::max(walked, bytes_of(wish));
    if (available != 0 && walked > available / 2) {
      return make_error(LW_ERROR_MEMORY,
                        fmt::format("{} MB to walk are more than half of the memory that is free", walked >> 20U));
    }
    LW_ASSIGN(memory, WalkedMemory::create(walked));
    memory_ = std::move(memory);
    return Done{};
  }

  Result<std::unique_ptr<TuneMatrix>> matrix(const MatrixWish& wish, Planes planes,
                                             const std::optional<BesideWish>& beside) override {
    auto made = std::make_unique<CpuMatrix>(wish, planes, machine(), pool_, timing());
    LW_TRY(made->fill(memory_, beside));
    return std::unique_ptr<TuneMatrix>(std::move(made));
  }

  Result<std::unique_ptr<tune::Subject>> together(const std::vector<MatrixWish>& wishes, Planes planes,
                                                  std::uint64_t tokens) override {
    auto made = std::make_unique<CpuTogether>(machine(), pool_, timing());
    LW_TRY(made->prepare(wishes, planes, tokens, memory_));
    return std::unique_ptr<tune::Subject>(std::move(made));
  }

  [[nodiscard]] std::string about() const override {
    return fmt::format("{}, {} {}", cpu_description(), pool_.threads(), pool_.threads() == 1 ? "thread" : "threads");
  }

 private:
  [[nodiscard]] double timing() const {
    return options_.timing_seconds != 0 ? options_.timing_seconds : usual_timing_seconds;
  }

  TuneDeviceOptions options_;
  Pool pool_;
  WalkedMemory memory_;
};

}  // namespace
}  // namespace tuning_on_cpu

std::unique_ptr<TuneDevice> make_tune_cpu(unsigned threads, const TuneDeviceOptions& options) {
  return std::make_unique<tuning_on_cpu::TuneCpu>(threads, options);
}

}  // namespace lanewise::program
