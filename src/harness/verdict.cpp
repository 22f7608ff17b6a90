// What a verdict says.
#include <cstdio>

#include "harness/verify.h"

namespace lanewise {
namespace {

std::string hex(std::uint32_t bits) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08X", bits);
  return text;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string counted(const BitCount& count, const char* what) {
  return std::to_string(count.differing) + " of " + std::to_string(count.compared) + " " + what;
}

std::string place(const Difference& d) {
  return "first at row " + std::to_string(d.row) + ", token " + std::to_string(d.token) + ": " +
         (d.unwritten ? std::string("not written") : hex(d.got)) + ", expected " + hex(d.expected);
}

}  // namespace

VerdictKind Verdict::kind() const {
  if (error) return VerdictKind::error;
  const bool sound = outputs.differing == 0 && against_scalar.differing == 0 && activation.differing == 0 &&
                     weights.differing == 0 && errors.outside == 0 && errors.not_exact == 0 && unwritten == 0 &&
                     red_zone_bytes == 0 && !inputs_changed && sums_fit && repeated.differing == 0 && !bad_ids_taken;
  if (!sound) return VerdictKind::failed;
  if (cancelled) return VerdictKind::cancelled;
  // A verdict that compared nothing is no verdict.
  if (outputs.compared == 0) return VerdictKind::error;
  return mistrusted.empty() ? VerdictKind::passed : VerdictKind::mistrusted;
}

std::string Verdict::failure() const {
  if (kind() != VerdictKind::failed) return {};
  if (inputs_changed) return "W or x was changed by the run";
  if (red_zone_bytes != 0) return std::to_string(red_zone_bytes) + " bytes outside the outputs were written";
  if (weights.differing != 0) {
    const Difference& d = *weights.first;
    return counted(weights, "decoded weights differ, first row ") + std::to_string(d.row) + ", element " +
           std::to_string(d.element) + ": " + hex(d.got) + ", expected " + hex(d.expected);
  }
  if (activation.differing != 0) {
    const Difference& d = *activation.first;
    return counted(activation, "numbers of the activation differ, first token ") + std::to_string(d.token) +
           ", element " + std::to_string(d.element) + ": " + hex(d.got) + ", expected " + hex(d.expected);
  }
  if (unwritten != 0) {
    return std::to_string(unwritten) + " outputs were not written" +
           (outputs.first ? ", " + place(*outputs.first) : "");
  }
  if (outputs.differing != 0) return counted(outputs, "outputs differ, ") + place(*outputs.first);
  if (against_scalar.differing != 0) {
    return counted(against_scalar, "outputs differ from the scalar kernel's, ") + place(*against_scalar.first);
  }
  if (repeated.differing != 0) {
    return counted(repeated, "outputs differ between two launches of one chain, ") + place(*repeated.first);
  }
  if (bad_ids_taken) return "an id out of range changed an output or wasn't reported, or one in range was";
  if (!sums_fit) return "an integer sum passed 31 bits";
  if (errors.not_exact != 0) {
    return std::to_string(errors.not_exact) + " of " + std::to_string(errors.integers) +
           " outputs that must be exact integers are not";
  }
  return std::to_string(errors.outside) + " of " + std::to_string(errors.outputs) +
         " outputs are further from float64 than their bound, worst at row " + std::to_string(errors.worst_row) +
         ", token " + std::to_string(errors.worst_token) + ": " + number(errors.worst_ratio) + " times";
}

std::string_view verdict_name(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::passed:
      return "passed";
    case VerdictKind::failed:
      return "FAILED";
    case VerdictKind::mistrusted:
      return "mistrusted";
    case VerdictKind::cancelled:
      return "cancelled";
    case VerdictKind::error:
      return "error";
  }
  return "?";
}

std::string to_string(const Verdict& verdict) {
  std::string out(verdict_name(verdict.kind()));
  out.append(" ").append(verdict.problem).append(": ");
  if (verdict.error) return out.append(verdict.error->message);
  if (const std::string failure = verdict.failure(); !failure.empty()) out.append(failure).append("; ");
  if (!verdict.mistrusted.empty()) out.append(verdict.mistrusted).append("; ");
  out.append(std::to_string(verdict.outputs.compared)).append(" outputs, ");
  out.append(std::to_string(verdict.weights.compared)).append(" weights compared; float64 on ");
  out.append(std::to_string(verdict.errors.rows)).append(" of ").append(std::to_string(verdict.errors.rows_of));
  out.append(" rows, worst ").append(number(verdict.errors.worst_ratio)).append(" of the bound, ");
  out.append(number(verdict.errors.worst_relative)).append(" of the terms");
  return out;
}

}  // namespace lanewise
