#include "bench_gpu_report.h"

#include <algorithm>

#include <fmt/format.h>

namespace lanewise::program {

void GpuBenchReport::head(const std::vector<std::string>& notes) {
  if (lines_) {
    out_.print("{}: {}, {}, cache {}\n", machine_.device, machine_.info.name, machine_.info.about,
               human_bytes(machine_.cache_bytes));
    out_.print("cold: a graph's chain of launches over copies of W in {}, {} at most; medians of {} replays\n",
               human_bytes(machine_.walked), GpuBench::most_products, machine_.replays);
    if (machine_.peer) {
      out_.print("peer: {} {}\n", machine_.peer->name, machine_.peer->version);
      if (!machine_.peer->about.empty()) out_.print("  {}\n", machine_.peer->about);
    }
  }
  for (const std::string& line : notes) note(line);
  if (!lines_) return;
  out_.print("\n{:29}{:>21}  {:>21}\n", "", "plain launches   ", "overlapped launches ");
  out_.print("{:<8} {:>11} {:>2} {:<5} {:>7} {:>7} {:>5}  {:>7} {:>7} {:>5} {:>6}", "format", "K x rows", "n", "kern.",
             "us", "floor", "%", "us", "floor", "%", "image");
  if (machine_.peer) out_.print(" {:>7} {:>6}", "peer us", "x peer");
  out_.text("\n");
}

void GpuBenchReport::note(const std::string& line) {
  notes_.push_back(line);
  if (lines_) out_.print("note: {}\n", line);
}

void GpuBenchReport::warn(const std::string& line) {
  warnings_.push_back(line);
  if (lines_) out_.print("warning: {}\n", line);
}

void GpuBenchReport::row(const GpuTime& time) {
  const Case& c = time.problem;
  const auto figure = [this](const GpuFigure& each) {
    out_.print(" {:>7.2f} {:>7.2f} {:>5.1f}", each.us, each.floor_us, 100 * each.fraction);
  };
  if (lines_) {
    out_.print("{:<8} {:>11} {:>2} {:<5}", format_info(c.format).name, fmt::format("{}x{}", c.cols, c.rows), c.tokens,
               time.kernel);
    figure(time.plain);
    out_.text(" ");
    if (time.overlapped) {
      figure(*time.overlapped);
    } else {
      out_.print(" {:>7} {:>7} {:>5}", "-", "-", "-");
    }
    out_.print(" {:>6.2f}", time.image_us);
    if (time.peer && time.peer->missing.empty()) {
      out_.print(" {:>7.2f} {:>6.2f}", time.peer->median_us, time.peer->over_ours);
    } else if (time.peer) {
      out_.print(" {:>7} {:>6}", "-", "-");
    }
    out_.text("\n");
    if (verbose_) out_.print("  {}\n", to_string(c));
    if (time.peer && !time.peer->missing.empty()) out_.print("  no figure of the peer's: {}\n", time.peer->missing);
  }
  warn_above_floor(time, "plain", time.plain);
  if (time.overlapped) warn_above_floor(time, "overlapped", *time.overlapped);
  if (time.differing != 0) {
    warn(fmt::format("{} of {} outputs differ from the scalar kernel's: {}", time.differing, time.compared,
                     to_string(c)));
  }
}

void GpuBenchReport::warn_above_floor(const GpuTime& time, std::string_view launches, const GpuFigure& figure) {
  if (figure.fraction <= 1) return;
  const Case& c = time.problem;
  warn(fmt::format("{} {}x{}, {} tokens, {}: {:.1f} % of the read floor: the floor is none here, or was disturbed",
                   format_info(c.format).name, c.cols, c.rows, c.tokens, launches, 100 * figure.fraction));
}

void GpuBenchReport::add(const std::vector<GpuTime>& times) {
  for (const GpuTime& time : times) {
    row(time);
    times_.push_back(time);
    over_first_.push_back(time.plain.us / times.front().plain.us);
  }
  // Seen at once, also through a pipe; a failure is kept and ends the run.
  (void)out_.flush();
}

void GpuBenchReport::summary(double ceiling_gbps) {
  if (!lines_ || times_.empty()) return;
  std::uint64_t compared = 0;
  std::uint64_t differing = 0;
  for (const GpuTime& time : times_) {
    compared += time.compared;
    differing += time.differing;
  }
  out_.print("\nread floor at its fastest: {:.0f} GB/s\n", ceiling_gbps);
  out_.print("bits: {} outputs compared with the scalar kernel's after timing, {} differ\n", grouped(compared),
             grouped(differing));
  out_.text(
      "us: a product, x made beforehand; floor: a kernel that only reads as many bytes, in the same run; image: us of\n"
      "making the image of x alone, part of no other figure\n");
  if (!machine_.peer) return;
  out_.text("x peer: peer us / (plain us + image us), so that above 1 ours is the faster\n");
  if (const std::size_t without = without_peer(); without != 0) {
    out_.print("no figure of the peer's in {} of {} cases\n", without, times_.size());
  }
}

std::size_t GpuBenchReport::without_peer() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(times_, [](const GpuTime& time) { return time.peer && !time.peer->missing.empty(); }));
}

Json GpuBenchReport::json(double ceiling_gbps) const {
  Json cases = Json::array();
  for (std::size_t i = 0; i < times_.size(); ++i) {
    const GpuTime& time = times_[i];
    const Case& c = time.problem;
    cases.push_back({{"format", format_info(c.format).name},
                     {"rows", c.rows},
                     {"cols", c.cols},
                     {"tokens", c.tokens},
                     {"device", machine_.device},
                     {"kernel", c.kernel},
                     {"layout", layout_name(c.layout)},
                     {"activation", planes_name(c.planes)},
                     {"cold", true},
                     {"problem", to_string(c)},
                     {"median_us", time.plain.us},
                     {"spread", time.plain.spread},
                     {"bytes", time.bytes},
                     {"gbps", static_cast<double>(time.bytes) / time.plain.us / 1e3},
                     {"fraction", time.plain.fraction},
                     {"floor_us", time.plain.floor_us}});
    Json& added = cases.back();
    if (time.overlapped) {
      added["overlapped_us"] = time.overlapped->us;
      added["overlapped_spread"] = time.overlapped->spread;
      added["overlapped_floor_us"] = time.overlapped->floor_us;
      added["overlapped_fraction"] = time.overlapped->fraction;
    }
    added["over_first_window"] = over_first_[i];
    added["image_us"] = time.image_us;
    added["products"] = time.products;
    added["outputs_compared"] = time.compared;
    added["outputs_differing"] = time.differing;
    if (!time.peer) continue;
    if (!time.peer->missing.empty()) {
      added["peer_missing"] = time.peer->missing;
      continue;
    }
    added["peer_us"] = time.peer->median_us;
    added["peer_spread"] = time.peer->spread;
    added["peer_over_ours"] = time.peer->over_ours;
    added["peer_how"] = time.peer->how;
  }
  Json document;
  document["library_version"] = lw_version();
  document["arithmetic_version"] = lw_arithmetic_version();
  document["machine"] = {{"device", machine_.info.name},
                         {"compute_capability", fmt::format("{}.{}", machine_.info.major, machine_.info.minor)},
                         {"multiprocessors", machine_.info.multiprocessors},
                         {"memory_bytes", machine_.info.memory_bytes},
                         {"last_cache_bytes", machine_.cache_bytes},
                         {"walked_bytes", machine_.walked},
                         {"replays", machine_.replays}};
  document["ceiling_gbps"] = times_.empty() ? Json(nullptr) : Json(ceiling_gbps);
  if (machine_.peer) {
    document["peer"] = {
        {"name", machine_.peer->name}, {"version", machine_.peer->version}, {"about", machine_.peer->about}};
  }
  document["cases"] = std::move(cases);
  document["notes"] = notes_;
  document["warnings"] = warnings_;
  return document;
}

Exit GpuBenchReport::exit(bool strict) const {
  for (const GpuTime& time : times_) {
    if (time.differing == 0) continue;
    return Fault{make_error(LW_ERROR_INTERNAL, fmt::format("{} of {} outputs differ from the scalar kernel's: {}",
                                                           time.differing, time.compared, to_string(time.problem))),
                 exit_wrong};
  }
  if (const std::size_t without = without_peer(); strict && without != 0) {
    return not_here(make_error(LW_ERROR_UNSUPPORTED, fmt::format("no figure of the peer's in {} of {} cases (--strict)",
                                                                 without, times_.size())));
  }
  return exit_ok;
}

}  // namespace lanewise::program
