#include "bench_log.h"

#include <utility>

#include <fmt/format.h>

#include "lanewise/lanewise.h"

namespace lanewise::program {
namespace {

bool no_figure(const TimedCase& time) { return time.peer && !time.peer->missing.empty(); }

std::string wrong_bits(const TimedCase& time) {
  return fmt::format("{} of {} outputs differ from the scalar kernel's: {}", time.differing, time.compared,
                     to_string(time.problem));
}

}  // namespace

void BenchLog::note(const std::string& line) {
  notes_.push_back(line);
  if (lines_) out_.print("note: {}\n", line);
}

void BenchLog::warn(const std::string& line) {
  warnings_.push_back(line);
  if (lines_) out_.print("warning: {}\n", line);
}

void BenchLog::print_peer() {
  if (!lines_ || !peer_) return;
  out_.print("peer: {} {}\n", peer_->name, peer_->version);
  if (!peer_->about.empty()) out_.print("  {}\n", peer_->about);
}

void BenchLog::end_row(const TimedCase& time, int width, int decimals) {
  if (time.peer && !no_figure(time)) {
    out_.print(" {:>{}.{}f} {:>6.2f}", time.peer->median_us, width, decimals, time.peer->over_ours);
  } else if (time.peer) {
    out_.print(" {:>{}} {:>6}", "-", width, "-");
  }
  out_.text("\n");
  if (no_figure(time)) out_.print("  no figure of the peer's: {}\n", time.peer->missing);
  if (!verbose_) return;
  out_.print("  {}\n", to_string(time.problem));
  if (time.peer && !time.peer->how.empty()) out_.print("  peer: {}\n", time.peer->how);
}

void BenchLog::add_case(const TimedCase& time) {
  ++cases_;
  without_peer_ += no_figure(time) ? 1U : 0U;
  compared_ += time.compared;
  differing_ += time.differing;
  if (time.differing == 0) return;
  warnings_.push_back(wrong_bits(time));
  if (lines_) out_.print("WRONG: {}\n", warnings_.back());
  if (!first_wrong_) first_wrong_ = time;
}

void BenchLog::print_bits() {
  out_.print("bits: {} outputs compared with the scalar kernel's after timing, {} differ\n", grouped(compared_),
             grouped(differing_));
}

void BenchLog::print_without_peer() {
  if (without_peer_ != 0) out_.print("no figure of the peer's in {} of {} cases\n", without_peer_, cases_);
}

Json BenchLog::case_json(const TimedCase& time, std::string_view device) {
  const Case& c = time.problem;
  return {{"format", format_info(c.format).name},
          {"rows", c.rows},
          {"cols", c.cols},
          {"tokens", c.tokens},
          {"device", device},
          {"kernel", c.kernel},
          {"layout", layout_name(c.layout)},
          {"activation", planes_name(c.planes)},
          {"problem", to_string(c)},
          {"bytes", time.bytes}};
}

void BenchLog::end_case_json(Json& json, const TimedCase& time) {
  json["image_us"] = time.image_us;
  json["outputs_compared"] = time.compared;
  json["outputs_differing"] = time.differing;
  if (!time.peer) return;
  if (no_figure(time)) {
    json["peer_missing"] = time.peer->missing;
    return;
  }
  json["peer_us"] = time.peer->median_us;
  json["peer_spread"] = time.peer->spread;
  json["peer_over_ours"] = time.peer->over_ours;
  json["peer_how"] = time.peer->how;
}

Json BenchLog::begin_document(Json machine, std::optional<double> ceiling_gbps) const {
  Json document;
  document["library_version"] = lw_version();
  document["arithmetic_version"] = lw_arithmetic_version();
  document["machine"] = std::move(machine);
  document["ceiling_gbps"] = cases_ != 0 && ceiling_gbps ? Json(*ceiling_gbps) : Json(nullptr);
  return document;
}

void BenchLog::end_document(Json& document, Json cases) const {
  if (peer_) document["peer"] = {{"name", peer_->name}, {"version", peer_->version}, {"about", peer_->about}};
  document["cases"] = std::move(cases);
  document["notes"] = notes_;
  document["warnings"] = warnings_;
}

Exit BenchLog::exit(bool strict) const {
  if (first_wrong_) return Fault{make_error(LW_ERROR_INTERNAL, wrong_bits(*first_wrong_)), exit_wrong};
  if (strict && without_peer_ != 0) {
    return not_here(make_error(LW_ERROR_UNSUPPORTED, fmt::format("no figure of the peer's in {} of {} cases (--strict)",
                                                                 without_peer_, cases_)));
  }
  return exit_ok;
}

}  // namespace lanewise::program
