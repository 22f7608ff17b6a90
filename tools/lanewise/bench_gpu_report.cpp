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
  }
  print_peer();
  for (const std::string& line : notes) note(line);
  if (!lines_) return;
  out_.print("\n{:29}{:>21}  {:>21}\n", "", "plain launches   ", "overlapped launches ");
  out_.print("{:<8} {:>11} {:>2} {:<5} {:>7} {:>7} {:>5}  {:>7} {:>7} {:>5} {:>6}", "format", "K x rows", "n", "kern.",
             "us", "floor", "%", "us", "floor", "%", "image");
  if (machine_.peer) out_.print(" {:>7} {:>6}", "peer us", "x peer");
  out_.text("\n");
}

void GpuBenchReport::row(const GpuTime& time) {
  const Case& c = time.problem;
  const auto figure = [this](const GpuFigure& each) {
    out_.print(" {:>7.2f} {:>7.2f} {:>5.1f}", each.us, each.floor_us, 100 * each.fraction);
  };
  if (lines_) {
    out_.print("{:<8} {:>11} {:>2} {:<5}", format_info(c.format).name,
               fmt::format("{}x{}{}", c.cols, time.rows, time.matrices > 1 ? fmt::format("x{}", time.matrices) : ""),
               c.tokens, time.kernel);
    figure(time.plain);
    out_.text(" ");
    if (time.overlapped) {
      figure(*time.overlapped);
    } else {
      out_.print(" {:>7} {:>7} {:>5}", "-", "-", "-");
    }
    out_.print(" {:>6.2f}", time.image_us);
    end_row(time, 7, 2);
  }
  warn_above_floor(time, "plain", time.plain);
  if (time.overlapped) warn_above_floor(time, "overlapped", *time.overlapped);
  add_case(time);
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

void GpuBenchReport::summary() {
  if (!lines_ || times_.empty()) return;
  out_.print("\nread floor at its fastest: {:.0f} GB/s\n", machine_.ceiling_gbps);
  print_bits();
  out_.text(
      "us: a product, x made beforehand; floor: a kernel that only reads as many bytes, in the same run; image: us of\n"
      "making the image of x alone, part of no other figure\n");
  if (std::ranges::any_of(times_, [](const GpuTime& time) { return time.matrices > 1; })) {
    out_.text("KxROWSxN: N matrices in one launch\n");
  }
  for (const GpuTime& time : times_) {
    if (!time.route_us) continue;
    out_.print("finding the experts of {} token{}: {:.2f} us, part of no other figure\n", time.problem.tokens,
               time.problem.tokens == 1 ? "" : "s", *time.route_us);
  }
  std::vector<double> submits;
  for (const GpuTime& time : times_) submits.push_back(time.plain.submit_us);
  if (median(submits) != 0) {
    out_.print("submitting a chain and learning of its end: {:.0f} us (median), part of no figure\n", median(submits));
  }
  if (!machine_.peer) return;
  out_.text(
      "x peer: peer us over those of ours with an image of x made for this one product, plain or overlapped,\n"
      "whichever is the faster, so that above 1 ours is\n");
  print_without_peer();
}

std::vector<ShapeTime> GpuBenchReport::shape_times() const {
  std::vector<ShapeTime> list;
  list.reserve(times_.size());
  for (const GpuTime& time : times_) list.push_back({time.problem, time.plain.us});
  return list;
}

Json GpuBenchReport::json() const {
  Json cases = Json::array();
  for (std::size_t i = 0; i < times_.size(); ++i) {
    const GpuTime& time = times_[i];
    Json added = case_json(time, machine_.device);
    added["rows"] = time.rows;
    added["matrices"] = time.matrices;
    if (time.problem.experts != 0) added["experts"] = time.problem.experts;
    if (time.route_us) added["route_us"] = *time.route_us;
    added["cold"] = true;
    added["median_us"] = time.plain.us;
    added["spread"] = time.plain.spread;
    added["gbps"] = static_cast<double>(time.bytes) / time.plain.us / 1e3;
    added["fraction"] = time.plain.fraction;
    added["floor_us"] = time.plain.floor_us;
    if (time.overlapped) {
      added["overlapped_us"] = time.overlapped->us;
      added["overlapped_spread"] = time.overlapped->spread;
      added["overlapped_floor_us"] = time.overlapped->floor_us;
      added["overlapped_fraction"] = time.overlapped->fraction;
    }
    if (time.with_image_us) added["with_image_us"] = *time.with_image_us;
    if (time.plain.submit_us != 0) added["submit_us"] = time.plain.submit_us;
    added["over_first_window"] = over_first_[i];
    added["products"] = time.products;
    end_case_json(added, time);
    cases.push_back(std::move(added));
  }
  Json document =
      begin_document({{"device", machine_.info.name},
                      {"about", machine_.info.about},
                      {"compute_capability", fmt::format("{}.{}", machine_.info.major, machine_.info.minor)},
                      {"multiprocessors", machine_.info.multiprocessors},
                      {"memory_bytes", machine_.info.memory_bytes},
                      {"last_cache_bytes", machine_.cache_bytes},
                      {"walked_bytes", machine_.walked},
                      {"replays", machine_.replays}},
                     machine_.ceiling_gbps);
  end_document(document, std::move(cases));
  return document;
}

}  // namespace lanewise::program
