#include "bench_gpu.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "arithmetic/scalar.h"
#include "bench_crew.h"
#include "exit_codes.h"
#include "harness/fill.h"
#include "harness/on_gpu.h"
#include "kernels/kernel.h"
#include "output.h"

namespace lanewise::program {
namespace {

// Rows compared after timing, spread over the matrix, of each buffer of y.
constexpr std::uint64_t checked_rows = 64;
// By so many rows each copy of W is turned against the one before, so that no two neighbours hold the same: what comes
// of a wrong copy, or of a late launch's buffer, is seen.
constexpr std::uint64_t turned_rows = 37;
constexpr std::uint64_t image_launches = 100;
// Replays of each shape of the reading kernel, after one, to choose among them.
constexpr unsigned choosing_replays = 3;
constexpr std::uint64_t align_up(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

double spread_of(const std::vector<double>& us) {
  const auto [fastest, slowest] = std::ranges::minmax(us);
  return (slowest - fastest) / median(us);
}

// Microseconds a replay, of those after the first `unmeasured`.
Result<std::vector<double>> replays(gpu::Chain& chain, unsigned unmeasured, unsigned measured) {
  std::vector<double> us;
  for (unsigned i = 0; i < unmeasured + measured && !stop_asked; ++i) {
    LW_ASSIGN(took, chain.replay());
    if (i >= unmeasured) us.push_back(took);
  }
  return us;
}

}  // namespace

// One matrix on the device: its copies, and everything that is timed on them.
class GpuMatrix {
 public:
  GpuMatrix(GpuBench& bench, const Case& problem)
      : bench_(bench),
        device_(bench.device_),
        timer_(bench.timer_),
        problem_(problem),
        lists_(rows_of_lists(problem).size()),
        experts_(std::max(problem.experts, 1U)),
        raw_{problem.format, GpuBench::rows_of_each(problem), problem.cols, nullptr},
        stride_(GpuBench::stride_of(*device_, problem)),
        crew_(bench.options_.threads, false) {}

  Result<std::vector<GpuTime>> run(const std::vector<std::uint64_t>& tokens) {
    LW_TRY(fill());
    LW_TRY(choose_floors());
    const std::uint64_t most_tokens = *std::ranges::max_element(tokens);
    LW_ASSIGN(y, gpu::Memory::allocate(device_, GpuBench::outputs * y_bytes(most_tokens)));
    y_ = std::move(y);
    for (const std::uint64_t window : tokens) {
      LW_TRY(time_window(window));
      if (stop_asked) return std::move(times_);
    }
    for (GpuTime& time : times_) {
      settle(time.plain, floor_us_[0]);
      if (time.overlapped) settle(*time.overlapped, floor_us_[1]);
    }
    const double fastest = static_cast<double>(parts() * raw_.bytes()) / median(floor_us_[0]) / 1e3;
    bench_.ceiling_gbps_ = std::max(bench_.ceiling_gbps_, fastest);
    return std::move(times_);
  }

 private:
  struct Check {
    std::uint64_t copy;  // of all matrices of all products
    std::uint64_t row;
    std::vector<float> expected;  // of each token
  };

  // Matrices of a product.
  [[nodiscard]] std::uint64_t parts() const { return lists_ * experts_; }
  // Of the outputs of one matrix, or of one list of experts.
  [[nodiscard]] std::uint64_t list_bytes(std::uint64_t tokens) const {
    return align_up(tokens * experts_ * raw_.rows * sizeof(float));
  }
  [[nodiscard]] std::uint64_t y_bytes(std::uint64_t tokens) const { return lists_ * list_bytes(tokens); }
  // Where an output lies in its product's, in floats. Token t has the experts from number t on, in turn.
  [[nodiscard]] std::uint64_t output_at(std::uint64_t copy, std::uint64_t token, std::uint64_t row) const {
    const std::uint64_t part = copy % parts();
    const std::uint64_t place = (part % experts_ + experts_ - token % experts_) % experts_;
    return part / experts_ * list_bytes(image_->tokens()) / sizeof(float) + (token * experts_ + place) * raw_.rows +
           row;
  }
  [[nodiscard]] std::uint8_t* matrix(std::uint64_t copy) const { return bench_.walked_.data() + copy * stride_; }
  // Of a product, as the floor reads them.
  [[nodiscard]] std::uint64_t bytes_read() const { return (parts() - 1) * stride_ + raw_.bytes(); }
  [[nodiscard]] bool can_overlap() const { return (device_->capabilities() & CAP_SM90) != 0; }
  [[nodiscard]] std::uint64_t turned(std::uint64_t copy) const { return copy * turned_rows % raw_.rows; }

  // The row of W that an output is made of.
  [[nodiscard]] std::uint64_t turned_back(const Check& check) const {
    return (check.row + turned(check.copy)) % raw_.rows;
  }

  static void settle(GpuFigure& figure, const std::vector<double>& floor) {
    figure.floor_us = median(floor);
    figure.fraction = figure.floor_us / figure.us;
  }

  // W on the host, and copies of it on the device in the kernel's layout: row r of copy c is row r + turned(c) of W.
  Outcome fill() {
    host_ = std::make_unique_for_overwrite<std::uint8_t[]>(raw_.bytes());
    raw_.data = host_.get();
    crew_.run([&](std::uint32_t part) {
      const std::uint64_t begin = raw_.rows * part / crew_.threads();
      const std::uint64_t end = raw_.rows * (part + 1) / crew_.threads();
      fill_weights(problem_.format, problem_.cols, problem_.fill, problem_.seed, begin, end, host_.get());
    });
    products_ = GpuBench::copies_of(parts() * stride_, bench_.options_.walked);
    copies_ = products_ * parts();
    // Memory of several pieces holds whole multiples of one stride in each.
    if (bench_.walked_.bytes() < copies_ * stride_ || bench_.walked_stride_ != stride_) {
      bench_.walked_ = {};
      LW_ASSIGN(walked, gpu::Memory::allocate(device_, std::max(bench_.options_.walked, copies_ * stride_), stride_));
      bench_.walked_ = std::move(walked);
      bench_.walked_stride_ = stride_;
    }
    LW_ASSIGN(there, gpu::Memory::allocate(device_, raw_.bytes(), device_->layout_unit(Layout::raw, raw_)));
    LW_TRY(device_->copy(there.data(), host_.get(), raw_.bytes()));
    gpu::Memory turned_copy;
    if (problem_.layout != Layout::raw) {
      LW_ASSIGN(room, gpu::Memory::allocate(device_, raw_.bytes(), device_->layout_unit(Layout::raw, raw_)));
      turned_copy = std::move(room);
    }
    for (std::uint64_t copy = 0; copy < copies_ && !stop_asked; ++copy) {
      std::uint8_t* const place = matrix(copy);
      std::uint8_t* const raw = problem_.layout == Layout::raw ? place : turned_copy.data();
      const std::uint64_t first = turned(copy) * (raw_.bytes() / raw_.rows);
      LW_TRY(device_->copy(raw, there.data() + first, raw_.bytes() - first));
      LW_TRY(device_->copy(raw + raw_.bytes() - first, there.data(), first));
      if (problem_.layout == Layout::raw) continue;
      MatrixView view = raw_;
      view.data = raw;
      LW_TRY(device_->pack(problem_.layout, view, place, nullptr));
      LW_TRY(device_->wait(nullptr));
    }
    if (copies_ * raw_.bytes() < 2 * timer_.cache_bytes()) {
      bench_.warm_.push_back(
          fmt::format("{} {}x{}: copies of {} are less than twice the cache of {}: not cold for sure", raw_.info().name,
                      raw_.cols, raw_.rows, human_bytes(copies_ * raw_.bytes()), human_bytes(timer_.cache_bytes())));
    }
    return Done{};
  }

  Result<std::unique_ptr<gpu::Chain>> floor_chain(gpu::ReadShape shape, bool overlapped) {
    return timer_.record([this, shape, overlapped](void* stream) -> Outcome {
      for (std::uint64_t i = 0; i < products_; ++i) {
        LW_TRY(timer_.read(matrix(i * parts()), bytes_read(), shape, overlapped, stream));
      }
      return Done{};
    });
  }

  Result<gpu::ReadShape> fastest_shape(bool overlapped) {
    gpu::ReadShape best = gpu::read_shapes.front();
    double best_us = 0;
    for (const gpu::ReadShape shape : gpu::read_shapes) {
      LW_ASSIGN(chain, floor_chain(shape, overlapped));
      LW_ASSIGN(us, replays(*chain, 1, choosing_replays));
      if (us.empty()) break;
      if (best_us != 0 && median(us) >= best_us) continue;
      best_us = median(us);
      best = shape;
    }
    return best;
  }

  // The shapes are looked for once for so many bytes; how long they take is measured beside every window anew.
  Outcome choose_floors() {
    auto found = bench_.floors_.find(bytes_read());
    if (found == bench_.floors_.end()) {
      LW_ASSIGN(plain, fastest_shape(false));
      GpuBench::Floors floors{plain, plain};
      if (can_overlap()) {
        LW_ASSIGN(overlapped, fastest_shape(true));
        floors.overlapped = overlapped;
      }
      found = bench_.floors_.emplace(bytes_read(), floors).first;
    }
    LW_ASSIGN(plain, floor_chain(found->second.plain, false));
    floor_chains_[0] = std::move(plain);
    if (!can_overlap()) return Done{};
    LW_ASSIGN(overlapped, floor_chain(found->second.overlapped, true));
    floor_chains_[1] = std::move(overlapped);
    return Done{};
  }

  Outcome time_floor(bool overlapped) {
    LW_ASSIGN(us, replays(*floor_chains_[overlapped ? 1 : 0], 1, bench_.options_.replays));
    for (const double each : us) floor_us_[overlapped ? 1 : 0].push_back(each / static_cast<double>(products_));
    return Done{};
  }

  Outcome time_window(std::uint64_t tokens) {
    GpuTime time;
    time.problem = problem_;
    time.problem.tokens = tokens;
    LW_TRY(check_case(time.problem));
    const Case& c = time.problem;
    LW_ASSIGN(plan, select({c.format, c.rows, c.cols, tokens, c.planes, c.layout}, device_->info().backend,
                           device_->capabilities(), c.kernel));
    time.problem.kernel = plan.name;
    time.kernel = std::string(plan.kernel->name);
    time.bytes = parts() * raw_.bytes();
    time.products = products_;
    time.matrices = parts();
    time.rows = raw_.rows;
    LW_TRY(make_x(time));
    if (problem_.experts != 0) LW_TRY(make_routes(time));
    make_expected(time.problem);
    LW_TRY(product(*plan.kernel, 0, false, nullptr));
    LW_TRY(device_->wait(nullptr));
    LW_ASSIGN(plain, time_products(*plan.kernel, time, false));
    time.plain = plain;
    if (can_overlap() && !stop_asked) {
      LW_ASSIGN(overlapped, time_products(*plan.kernel, time, true));
      time.overlapped = overlapped;
    }
    if (bench_.options_.peer && parts() > 1) {
      time.peer.emplace().missing = "a peer is asked for single matrices";
    } else if (bench_.options_.peer && !stop_asked) {
      LW_TRY(time_with_image(*plan.kernel, time, false));
      if (can_overlap() && !stop_asked) LW_TRY(time_with_image(*plan.kernel, time, true));
      if (!stop_asked) time.peer = time_peer(time);
    }
    if (!stop_asked) times_.push_back(std::move(time));
    return Done{};
  }

  // The image of x, made once for all products, and what making it takes.
  Outcome make_x(GpuTime& time) {
    const std::uint64_t tokens = time.problem.tokens;
    std::vector<float> values(tokens * raw_.cols);
    fill_x(problem_.format, tokens, raw_.cols, problem_.fill, problem_.seed, Dtype::f32, values.data());
    LW_ASSIGN(activation, Activation::create(problem_.planes, tokens, raw_.cols));
    activation_ = std::move(activation);
    LW_TRY(activation_->set({values.data(), Dtype::f32, tokens, raw_.cols, raw_.cols}));
    LW_ASSIGN(there, gpu::Memory::allocate(device_, values.size() * sizeof(float)));
    x_ = std::move(there);
    LW_TRY(device_->copy(x_.data(), values.data(), values.size() * sizeof(float)));
    LW_ASSIGN(image, gpu::Image::create(device_, problem_.planes, tokens, raw_.cols));
    image_ = std::move(image);
    const InputView x = input();
    // Once outside of a chain: what can't run says so here, and the driver loads kernels before they are recorded.
    LW_TRY(image_->set(x, false, nullptr));
    LW_TRY(image_->prepare(raw_.info(), false, nullptr));
    LW_TRY(device_->wait(nullptr));
    LW_ASSIGN(chain, timer_.record([this, x](void* stream) -> Outcome {
      for (std::uint64_t i = 0; i < image_launches; ++i) {
        LW_TRY(image_->set(x, false, stream));
        LW_TRY(image_->prepare(raw_.info(), false, stream));
      }
      return Done{};
    }));
    LW_ASSIGN(us, replays(*chain, GpuBench::unmeasured, bench_.options_.replays));
    time.image_us = median(us) / static_cast<double>(image_launches);
    return Done{};
  }

  [[nodiscard]] InputView input() const {
    return {x_.data(), Dtype::f32, x_.bytes() / sizeof(float) / raw_.cols, raw_.cols, raw_.cols};
  }

  Outcome time_with_image(const KernelDesc& kernel, GpuTime& time, bool overlapped) {
    LW_TRY(device_->fill(y_.data(), 0xA5, y_.bytes()));
    LW_ASSIGN(chain, timer_.record([this, &kernel, overlapped](void* stream) -> Outcome {
      for (std::uint64_t i = 0; i < products_; ++i) {
        LW_TRY(image_->set(input(), false, stream));
        LW_TRY(image_->prepare(raw_.info(), overlapped, stream));
        LW_TRY(product(kernel, i, overlapped, stream));
      }
      return Done{};
    }));
    LW_ASSIGN(us, replays(*chain, GpuBench::unmeasured, bench_.options_.replays));
    if (stop_asked) return Done{};
    const double each = median(us) / static_cast<double>(products_);
    time.with_image_us = std::min(each, time.with_image_us.value_or(each));
    return compare(time);
  }

  // The experts that each product's tokens use, found once for all launches, and what finding them takes.
  Outcome make_routes(GpuTime& time) {
    const std::uint64_t tokens = image_->tokens();
    std::vector<std::int32_t> ids(tokens * experts_);
    for (std::uint64_t i = 0; i < ids.size(); ++i) {
      ids[i] = static_cast<std::int32_t>((i % experts_ + i / experts_) % experts_);
    }
    LW_ASSIGN(there, gpu::Memory::allocate(device_, ids.size() * sizeof(std::int32_t)));
    ids_ = std::move(there);
    LW_TRY(device_->copy(ids_.data(), ids.data(), ids_.bytes()));
    LW_ASSIGN(routes, gpu::Memory::allocate(device_, products_ * image_->slices() * sizeof(gpu::Route)));
    routes_ = std::move(routes);
    const auto route = [this](std::uint64_t product, void* stream) -> Outcome {
      gpu::Routing routing{};
      for (std::uint64_t part = 0; part < parts(); ++part) {
        routing.w[part / experts_][part % experts_] = matrix(product * parts() + part);
      }
      routing.targets = static_cast<std::uint32_t>(lists_);
      routing.experts = static_cast<std::uint32_t>(experts_);
      routing.ids = reinterpret_cast<const std::int32_t*>(ids_.data());
      routing.tokens = image_->tokens();
      routing.used = static_cast<std::uint32_t>(experts_);
      routing.routes = routes_of(product);
      return device_->route(routing, false, stream);
    };
    for (std::uint64_t i = 0; i < products_; ++i) LW_TRY(route(i, nullptr));
    LW_TRY(device_->wait(nullptr));
    LW_ASSIGN(chain, timer_.record([this, route](void* stream) -> Outcome {
      for (std::uint64_t i = 0; i < products_; ++i) LW_TRY(route(i, stream));
      return Done{};
    }));
    LW_ASSIGN(us, replays(*chain, GpuBench::unmeasured, bench_.options_.replays));
    if (!us.empty()) time.route_us = median(us) / static_cast<double>(products_);
    return Done{};
  }
  [[nodiscard]] gpu::Route* routes_of(std::uint64_t product) const {
    return reinterpret_cast<gpu::Route*>(routes_.data()) + product * image_->slices();
  }

  // The rows of W that outputs are compared of, for the copies behind the last products, one a buffer of y.
  void make_expected(const Case& c) {
    checks_.clear();
    const std::uint64_t last = parts() * std::min(products_, GpuBench::outputs);
    const std::uint64_t count = std::min(checked_rows, raw_.rows);
    std::set<std::uint64_t> wanted;
    for (std::uint64_t copy = copies_ - last; copy < copies_; ++copy) {
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t row = count == 1 ? 0 : i * (raw_.rows - 1) / (count - 1);
        checks_.push_back({copy, row, {}});
        wanted.insert(turned_back(checks_.back()));
      }
    }
    const std::vector<std::uint64_t> rows(wanted.begin(), wanted.end());
    std::vector<float> y(c.tokens * raw_.rows);
    crew_.run([&](std::uint32_t part) {
      for (std::size_t i = part; i < rows.size(); i += crew_.threads()) {
        gemv_scalar(raw_, *activation_, {y.data(), Dtype::f32, raw_.rows}, rows[i], rows[i] + 1);
      }
    });
    for (Check& check : checks_) {
      for (std::uint64_t token = 0; token < c.tokens; ++token) {
        check.expected.push_back(y[token * raw_.rows + turned_back(check)]);
      }
    }
  }

  Result<GpuFigure> time_products(const KernelDesc& kernel, GpuTime& time, bool overlapped) {
    // So that outputs of an earlier chain can't pass for this one's.
    LW_TRY(device_->fill(y_.data(), 0xA5, y_.bytes()));
    LW_TRY(time_floor(overlapped));
    LW_ASSIGN(chain, timer_.record([this, &kernel, overlapped](void* stream) -> Outcome {
      for (std::uint64_t i = 0; i < products_; ++i) LW_TRY(product(kernel, i, overlapped, stream));
      return Done{};
    }));
    LW_ASSIGN(us, replays(*chain, GpuBench::unmeasured, bench_.options_.replays));
    if (stop_asked) return GpuFigure{};
    LW_TRY(compare(time));
    GpuFigure figure;
    figure.us = median(us) / static_cast<double>(products_);
    figure.spread = spread_of(us);
    figure.submit_us = chain->submit_us();
    return figure;
  }

  // As gpu::multiply() and gpu::multiply_experts() do, but that the image holds all it needs already, and the experts
  // are found.
  Outcome product(const KernelDesc& kernel, std::uint64_t index, bool overlapped, void* stream) {
    gpu::Launch what = gpu::launch_of(*device_, *image_, Dtype::f32, {overlapped, {}});
    what.count = static_cast<std::uint32_t>(lists_);
    std::uint8_t* const y = y_.data() + index % GpuBench::outputs * y_bytes(image_->tokens());
    const std::uint64_t slice_bytes = gpu::image_slice * experts_ * raw_.rows * sizeof(float);
    for (std::uint64_t slice = 0; slice < image_->slices(); ++slice) {
      for (std::uint64_t list = 0; list < lists_; ++list) {
        what.targets[list] = {matrix(index * parts() + list * experts_),
                              y + list * list_bytes(image_->tokens()) + slice * slice_bytes, raw_.rows, raw_.rows};
        if (problem_.experts != 0) what.targets[list].w = nullptr;
      }
      if (problem_.experts != 0) {
        what.route = routes_of(index) + slice;
        what.ids = reinterpret_cast<const std::int32_t*>(ids_.data()) + slice * gpu::image_slice * experts_;
        what.used = static_cast<std::uint32_t>(experts_);
      }
      what.x = image_->slice(slice);
      what.tokens = image_->slice_tokens(slice);
      LW_TRY(device_->launch(kernel, problem_.format, what, stream));
    }
    return Done{};
  }

  Outcome compare(GpuTime& time) {
    const std::uint64_t tokens = time.problem.tokens;
    std::vector<float> got(y_bytes(tokens) / sizeof(float));
    std::uint64_t fetched = products_;
    for (const Check& check : checks_) {
      const std::uint64_t product = check.copy / parts();
      if (product != fetched) {
        const std::uint8_t* const from = y_.data() + product % GpuBench::outputs * y_bytes(tokens);
        LW_TRY(device_->copy(got.data(), from, got.size() * sizeof(float)));
        fetched = product;
      }
      for (std::uint64_t token = 0; token < tokens; ++token) {
        ++time.compared;
        const float& out = got[output_at(check.copy, token, check.row)];
        if (std::memcmp(&out, &check.expected[token], sizeof(float)) != 0) ++time.differing;
      }
    }
    return Done{};
  }

  // One that failed is started anew for the next window.
  PeerTime time_peer(const GpuTime& time) {
    PeerTime result;
    std::vector<double> us;
    const auto ask = [&]() -> Outcome {
      if (bench_.peer_ == nullptr) {
        LW_ASSIGN(peer, Peer::start(*bench_.options_.peer));
        bench_.peer_ = std::move(peer);
      }
      for (unsigned round = 0; round < bench_.options_.replays && !stop_asked; ++round) {
        LW_ASSIGN(how, bench_.peer_->prepare(time.problem, bench_.options_.threads, copies_ * raw_.bytes()));
        result.how = how;
        LW_ASSIGN(took, bench_.peer_->time_round());
        us.push_back(took);
      }
      return Done{};
    };
    if (const Outcome outcome = ask(); !outcome) {
      result.missing = outcome.error().message;
      if (outcome.error().code != LW_ERROR_UNSUPPORTED) bench_.peer_.reset();
      return result;
    }
    result.median_us = median(us);
    result.spread = us.empty() ? 0 : spread_of(us);
    result.over_ours = result.median_us / *time.with_image_us;
    return result;
  }

  GpuBench& bench_;
  std::shared_ptr<gpu::Device> device_;
  gpu::Timer& timer_;
  Case problem_;
  std::uint64_t lists_;    // matrices of a product, or lists of experts
  std::uint64_t experts_;  // of a list; 1: no experts
  MatrixView raw_;         // one matrix
  std::uint64_t stride_;
  Crew crew_;                   // of the CPU: makes W and what outputs are compared with
  std::uint64_t products_ = 0;  // in a chain
  std::uint64_t copies_ = 0;    // matrices of all of them
  std::unique_ptr<std::uint8_t[]> host_;
  std::unique_ptr<Activation> activation_;
  gpu::Memory x_;
  std::unique_ptr<gpu::Image> image_;
  gpu::Memory ids_;
  gpu::Memory routes_;
  gpu::Memory y_;
  std::vector<Check> checks_;
  std::unique_ptr<gpu::Chain> floor_chains_[2];  // plain, overlapped
  std::vector<double> floor_us_[2];              // of one read
  std::vector<GpuTime> times_;
};

std::uint64_t GpuBench::copies_of(std::uint64_t stride, std::uint64_t walked) {
  // A chain shorter than the buffers of y are many would leave some of them unwritten.
  return std::clamp(walked / stride, outputs, most_products);
}

std::uint64_t GpuBench::rows_of_each(const Case& problem) {
  return problem.rows / (rows_of_lists(problem).size() * std::max(problem.experts, 1U));
}

std::uint64_t GpuBench::stride_of(const gpu::Device& device, const Case& problem) {
  return align_up(device.layout_bytes(problem.layout, {problem.format, rows_of_each(problem), problem.cols, nullptr}));
}

Result<std::vector<GpuTime>> GpuBench::time(const Case& problem, const std::vector<std::uint64_t>& tokens) {
  return GpuMatrix(*this, problem).run(tokens);
}

}  // namespace lanewise::program
