#include "bench_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/cpu/cpu.h"

namespace lanewise::program {

BenchMachine describe_machine(unsigned threads, bool spin) {
  BenchMachine machine;
  machine.processor = cpu_description();
  machine.processors = cpu_count();
  machine.threads = threads;
  machine.spin = spin;
  machine.load = load_average();
  machine.last_cache = last_cache_bytes();
  return machine;
}

void print_machine(Output& out, const BenchMachine& machine) {
  out.print("{}, {} processors; {} threads that {} between calls\n", machine.processor, machine.processors,
            machine.threads, machine.spin ? "spin" : "sleep");
  if (machine.load > 0.3) {
    out.print("note: the load average is {:.1f}: other work runs here, and these figures carry it\n", machine.load);
  }
  if (machine.threads > machine.processors) {
    out.print("note: more threads than processors: they take turns\n");
  }
}

Json to_json(const BenchMachine& machine) {
  return {{"cpu", machine.processor},      {"processors", machine.processors},
          {"threads", machine.threads},    {"threads_between_calls", machine.spin ? "spin" : "sleep"},
          {"load_average", machine.load},  {"last_cache_bytes", machine.last_cache},
          {"walked_bytes", machine.walked}};
}

void BenchReport::head(const std::vector<std::string>& notes) {
  if (lines_) {
    print_machine(out_, machine_);
    out_.print("cold: copies of W in {} ({}), read in turn\n", human_bytes(machine_.walked), machine_.walked_why);
  }
  print_peer();
  for (const std::string& line : notes) note(line);
  if (!lines_) return;
  out_.print("\n{:<8} {:>13} {:>3} {:<4} {:<8} {:>10} {:>6} ", "format", "K x rows", "n", "W", "kernel", "us/call",
             "spread");
  if (!machine_.peer) out_.print("{:>7} ", "GB/s");
  out_.print("{:>7} {:>6} {:>9}", "ceiling", "to n_1", "image us");
  if (machine_.peer) out_.print(" {:>9} {:>6}", "peer us", "x peer");
  out_.text("\n");
}

void BenchReport::row(const BenchTime& time) {
  const Case& c = time.problem;
  if (lines_) {
    out_.print("{:<8} {:>13} {:>3} {:<4} {:<8} {:>10.1f} {:>4.0f} % ", format_info(c.format).name,
               fmt::format("{}x{}", c.cols, c.rows), c.tokens, time.hot ? "hot" : "cold", time.kernel, time.median_us,
               100 * time.spread);
    if (!time.peer) out_.print("{:>7.2f} ", time.gbps);
    // A ceiling measured while something else ran can be far too low, and the table keeps its columns.
    out_.print("{:>5.{}f} % {:>6.2f} {:>9.1f}", 100 * time.fraction, time.fraction < 10 ? 1 : 0, time.over_first,
               time.image_us);
    end_row(time, 9, 1);
  }
  warn_above_ceiling(time, "", time.fraction);
  if (time.peer) warn_above_ceiling(time, "the peer at ", time.peer->fraction);
  add_case(time);
}

void BenchReport::warn_above_ceiling(const BenchTime& time, std::string_view whose, double fraction) {
  if (fraction <= 1) return;
  const Case& c = time.problem;
  warn(fmt::format("{} {}x{}, {} tokens, {}: {}{:.1f} % of the ceiling: one of the two was disturbed",
                   format_info(c.format).name, c.cols, c.rows, c.tokens, time.hot ? "hot" : "cold", whose,
                   100 * fraction));
}

void BenchReport::add(const BenchGroupTimes& group) {
  for (const BenchTime& time : group.times) {
    row(time);
    times_.push_back(time);
    if (!time.hot) best_loop_ = group.best_loop;
    if (!time.hot) huge_pages_ = group.huge_pages;
  }
  if (!group.times.empty() && !group.times.front().hot) {
    ceilings_.insert(ceilings_.end(), group.ceilings.begin(), group.ceilings.end());
  }
  paces_.insert(paces_.end(), group.paces.begin(), group.paces.end());
  best_pace_ = std::max(best_pace_, group.best_pace);
  if (group.threads < machine_.threads && threads_ == 0) {
    note(fmt::format("only {} threads could be had of the {} asked for", group.threads, machine_.threads));
  }
  threads_ = group.threads;
  // Seen at once, also through a pipe; a failure is kept and ends the run.
  (void)out_.flush();
}

double BenchReport::ceiling() const { return median(ceilings_); }

void BenchReport::print_pace() {
  const double usual = median(paces_) / best_pace_;
  out_.print("pace: {:.2f} of the processors' best, the median of {} looks; the least {:.2f}\n", usual, paces_.size(),
             std::ranges::min(paces_) / best_pace_);
  if (usual < 0.9)
    out_.text("      others share the cores: what computing bounds carries it, what memory bounds less\n");
}

void BenchReport::summary() {
  if (!lines_ || ceilings_.empty()) return;
  const auto [least, most] = std::ranges::minmax(ceilings_);
  out_.print("\nceiling: {:.2f} GB/s (median of {} rounds, {:.2f} to {:.2f}; fastest loop at last: {})\n", ceiling(),
             ceilings_.size(), least, most, best_loop_);
  print_pace();
  if (huge_pages_ >= 0) out_.print("huge pages: {:.0f} % of the copies\n", 100 * huge_pages_);
  print_bits();
  out_.text(
      "ceiling %: median of each round's own ratio; to n_1: the time against the first window's;\n"
      "image us: making the activation on one thread, not part of us/call\n");
  if (!machine_.peer) return;
  out_.text(
      "peer us: the peer's call, timed after ours in every round, with whatever it does to x; x peer: median of the\n"
      "rounds' peer us / us/call, so that above 1 ours is the faster\n");
  print_without_peer();
}

std::vector<ShapeTime> BenchReport::shape_times() const {
  std::vector<ShapeTime> list;
  for (const BenchTime& time : times_) {
    if (!time.hot) list.push_back({time.problem, time.median_us});
  }
  return list;
}

Json BenchReport::json() const {
  Json cases = Json::array();
  for (const BenchTime& time : times_) {
    Json added = case_json(time, "cpu");
    added["cold"] = !time.hot;
    added["median_us"] = time.median_us;
    added["spread"] = time.spread;
    added["gbps"] = time.gbps;
    added["fraction"] = time.fraction;
    added["ceiling_gbps"] = time.ceiling_gbps;
    added["over_first_window"] = time.over_first;
    end_case_json(added, time);
    if (time.peer && time.peer->missing.empty()) added["peer_fraction"] = time.peer->fraction;
    cases.push_back(std::move(added));
  }
  Json machine = to_json(machine_);
  machine["threads"] = threads_;
  machine["huge_pages"] = huge_pages_ < 0 ? Json(nullptr) : Json(huge_pages_);
  if (!paces_.empty()) {
    machine["pace"] = {{"median", median(paces_) / best_pace_},
                       {"least", std::ranges::min(paces_) / best_pace_},
                       {"looks", paces_.size()}};
  }
  Json document =
      begin_document(std::move(machine), ceilings_.empty() ? std::nullopt : std::optional<double>(ceiling()));
  document["ceiling_loop"] = best_loop_;
  end_document(document, std::move(cases));
  return document;
}

}  // namespace lanewise::program
