#include "verify_report.h"

#include <algorithm>

#include "model.h"

namespace lanewise::program {
namespace {

std::string hex(std::uint32_t bits) { return fmt::format("0x{:08X}", bits); }

// Names of the harness are written for people ("FAILED").
std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

Json to_json(const BitCount& count) {
  Json out{{"compared", count.compared}, {"differing", count.differing}, {"differing_bits", count.differing_bits}};
  if (count.first) {
    out["first"] = {{"row", count.first->row},
                    {"token", count.first->token},
                    {"element", count.first->element},
                    {"got", hex(count.first->got)},
                    {"expected", hex(count.first->expected)},
                    {"unwritten", count.first->unwritten}};
  }
  return out;
}

Json to_json(const Verdict& verdict) {
  Json out;
  out["problem"] = verdict.problem;
  out["kernel"] = verdict.kernel;
  out["verdict"] = lower(verdict_name(verdict.kind()));
  out["outputs"] = to_json(verdict.outputs);
  out["against_scalar"] = to_json(verdict.against_scalar);
  out["activation"] = to_json(verdict.activation);
  out["weights"] = to_json(verdict.weights);
  out["float64"] = {{"rows", verdict.errors.rows},
                    {"rows_of", verdict.errors.rows_of},
                    {"outputs", verdict.errors.outputs},
                    {"unbounded", verdict.errors.unbounded},
                    {"outside", verdict.errors.outside},
                    {"worst_ratio", verdict.errors.worst_ratio},
                    {"worst_relative", verdict.errors.worst_relative}};
  if (verdict.repeated.compared != 0) out["repeated"] = to_json(verdict.repeated);
  if (!verdict.mistrusted.empty()) out["mistrusted"] = verdict.mistrusted;
  if (verdict.error) out["error"] = verdict.error->message;
  if (verdict.kind() == VerdictKind::failed) out["failure"] = verdict.failure();
  return out;
}

Json to_json(const Tally& tally) {
  return {{"cases", tally.cases},
          {"passed", tally.passed},
          {"failed", tally.failed},
          {"mistrusted", tally.mistrusted},
          {"values_compared", tally.values},
          {"values_differing", tally.differing},
          {"values_against_scalar", tally.against_scalar},
          {"activation_compared", tally.activation},
          {"weights_decoded", tally.weights},
          {"outputs_against_float64", tally.bounded},
          {"worst_error_over_bound", tally.worst_ratio},
          {"worst_relative_error", tally.worst_relative},
          {"launches",
           {{"tiled", tally.tiled},
            {"overlapped", tally.overlapped},
            {"groups", tally.groups},
            {"experts", tally.experts},
            {"offsets", tally.offsets},
            {"values_repeated", tally.repeated}}}};
}

std::string verdict_text(const Tally& tally) {
  if (tally.failed != 0) return fmt::format("FAILED ({} of {})", tally.failed, tally.cases);
  if (tally.mistrusted != 0) return fmt::format("mistrusted ({} of {})", tally.mistrusted, tally.cases);
  return "ok";
}

constexpr std::size_t label_width = 34;

}  // namespace

void Tally::add(const Verdict& verdict, bool with_weights) {
  ++cases;
  switch (verdict.kind()) {
    case VerdictKind::passed:
      ++passed;
      break;
    case VerdictKind::mistrusted:
      ++mistrusted;
      break;
    case VerdictKind::failed:
    case VerdictKind::error:
    case VerdictKind::cancelled:
      ++failed;
      break;
  }
  values += verdict.outputs.compared;
  differing += verdict.outputs.differing;
  against_scalar += verdict.against_scalar.compared;
  activation += verdict.activation.compared;
  if (with_weights) weights += verdict.weights.compared;
  bounded += verdict.errors.outputs - verdict.errors.unbounded;
  worst_ratio = std::max(worst_ratio, verdict.errors.worst_ratio);
  worst_relative = std::max(worst_relative, verdict.errors.worst_relative);
  const Launched& how = verdict.launched;
  tiled += how.tiled ? 1U : 0U;
  overlapped += how.overlapped ? 1U : 0U;
  groups += how.group && !how.experts ? 1U : 0U;
  experts += how.experts ? 1U : 0U;
  offsets += how.apart ? 1U : 0U;
  repeated += verdict.repeated.compared;
}

void VerifyReport::head() {
  if (!lines_) return;
  out_.print("{:<{}} {:<8} {:>7} {:>14} {:>15} {:>12}  {}\n", "matrix", label_width, "format", "cases", "values = bits",
             "weights = bits", "error/bound", "verdict");
}

void VerifyReport::note(std::string text) {
  if (lines_) out_.print("note: {}\n", text);
  notes_.push_back(std::move(text));
}

void VerifyReport::add(const std::string& format, const Verdict& verdict, bool with_weights) {
  open_.add(verdict, with_weights);
  formats_[format].add(verdict, with_weights);
  total_.add(verdict, with_weights);
  const VerdictKind kind = verdict.kind();
  if (kind == VerdictKind::mistrusted && open_mistrusted_.empty()) {
    open_mistrusted_ = verdict.mistrusted + " (" + verdict.problem + ")";
  }
  if (kind != VerdictKind::passed && kind != VerdictKind::mistrusted && !first_failure_) first_failure_ = verdict;
  if (json_) verdicts_.push_back(to_json(verdict));
}

void VerifyReport::row(const std::string& label, const std::string& format) {
  if (lines_) {
    out_.print("{:<{}} {:<8} {:>7} {:>14} {:>15} {:>12.3f}  {}{}{}\n", printable(label), label_width, format,
               open_.cases, grouped(open_.values), grouped(open_.weights), open_.worst_ratio, verdict_text(open_),
               open_mistrusted_.empty() ? "" : ": ", printable(open_mistrusted_));
  }
  open_ = {};
  open_mistrusted_.clear();
}

void VerifyReport::summary(double seconds) {
  out_.text("\n");
  if (lines_ && formats_.size() > 1) {
    out_.text("values compared bit for bit, by format:\n");
    for (const auto& [format, tally] : formats_) {
      out_.print("  {:<10}{:>14}   {:>15} weights decoded   worst error/bound {:.3f}   {}\n", format,
                 grouped(tally.values), grouped(tally.weights), tally.worst_ratio, verdict_text(tally));
    }
  }
  out_.print(
      "{} case{} in {:.1f} s: {} values of y, {} integers of x and {} decoded weights compared bit for bit,\n"
      "{} values of y against float64: worst error {:.3f} of its bound, {:.2e} of the sum of |terms|\n",
      grouped(total_.cases), total_.cases == 1 ? "" : "s", seconds, grouped(total_.values), grouped(total_.activation),
      grouped(total_.weights), grouped(total_.bounded), total_.worst_ratio, total_.worst_relative);
  if (total_.tiled + total_.overlapped + total_.groups + total_.experts + total_.offsets != 0) {
    out_.print(
        "of these cases {} in a tiling of their own, {} overlapped ({} values the same again in their chain), {} "
        "groups,\n"
        "{} with experts (ids out of range refused in each), {} past 4 GiB\n",
        grouped(total_.tiled), grouped(total_.overlapped), grouped(total_.repeated), grouped(total_.groups),
        grouped(total_.experts), grouped(total_.offsets));
  }
  out_.print("verdict: {} passed, {} failed, {} mistrusted\n", grouped(total_.passed), grouped(total_.failed),
             grouped(total_.mistrusted));
}

Json VerifyReport::json(double seconds) const {
  Json out;
  out["seconds"] = seconds;
  out["total"] = to_json(total_);
  out["formats"] = Json::object();
  for (const auto& [format, tally] : formats_) out["formats"][format] = to_json(tally);
  out["notes"] = notes_;
  out["verdicts"] = verdicts_;
  return out;
}

Exit VerifyReport::exit(bool strict) const {
  if (first_failure_) {
    const Error error = first_failure_->error.value_or(make_error(LW_ERROR_INTERNAL, first_failure_->failure()));
    const Error cause = make_error(error.code, fmt::format("{}: {}", first_failure_->problem, error.message));
    if (!first_failure_->error) return Fault{cause, exit_wrong};
    // The case couldn't be run at all: a kernel that isn't here, or no memory.
    return no_kernel(cause);
  }
  if (strict && total_.mistrusted != 0) {
    return Fault{make_error(LW_ERROR_INTERNAL, fmt::format("{} of {} cases are mistrusted: the lines above say why",
                                                           total_.mistrusted, total_.cases)),
                 exit_wrong};
  }
  return exit_ok;
}

}  // namespace lanewise::program
