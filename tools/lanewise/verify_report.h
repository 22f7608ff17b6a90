// What `lanewise verify` says: a line for each format or tensor, a summary, and the same as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "harness/verify.h"
#include "json.h"
#include "output.h"

namespace lanewise::program {

/// Counts over any number of verdicts.
struct Tally {
  std::uint64_t cases = 0;
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::uint64_t mistrusted = 0;
  std::uint64_t values = 0;  ///< outputs compared bit for bit with the oracle's
  std::uint64_t differing = 0;
  std::uint64_t against_scalar = 0;  ///< outputs compared with the scalar kernel's, where another ran
  std::uint64_t activation = 0;      ///< q and e compared
  std::uint64_t weights = 0;         ///< weights whose decoding was compared bit for bit
  std::uint64_t bounded = 0;         ///< outputs compared with float64 and their bound
  double worst_ratio = 0;
  double worst_relative = 0;
  // Of a device with memory of its own: cases that were more than a plain launch of one matrix.
  std::uint64_t tiled = 0;
  std::uint64_t overlapped = 0;
  std::uint64_t groups = 0;   ///< without experts
  std::uint64_t experts = 0;  ///< as often with ids out of range, twice
  std::uint64_t offsets = 0;
  std::uint64_t repeated = 0;  ///< outputs compared with those of the same product, later in a chain

  /// `with_weights`: its decoding was compared for this verdict, not for an earlier one of the same matrix.
  void add(const Verdict& verdict, bool with_weights);
};

class VerifyReport {
 public:
  /// `lines`: print them; JSON verdicts are kept where `json`.
  VerifyReport(Output& out, bool lines, bool json) : out_(out), lines_(lines), json_(json) {}

  void head();
  /// A line that stands for itself.
  void note(std::string text);
  /// Counts a verdict under `format` and in the row that is open.
  void add(const std::string& format, const Verdict& verdict, bool with_weights);
  /// Ends the open row and prints it under `label`.
  void row(const std::string& label, const std::string& format);
  /// Everything; `seconds` of work.
  void summary(double seconds);

  [[nodiscard]] const Tally& total() const { return total_; }
  /// The first verdict that wasn't passed or mistrusted.
  [[nodiscard]] const std::optional<Verdict>& first_failure() const { return first_failure_; }
  [[nodiscard]] Json json(double seconds) const;
  /// How the command ends: exit_ok, or a Fault that names the first failure and the problem string that reproduces it.
  /// A model may hold a tensor of zeros, which proves little and is no fault; a synthetic case is made to prove
  /// something: there (`strict`) mistrusted verdicts fail.
  [[nodiscard]] Exit exit(bool strict) const;

 private:
  Output& out_;
  bool lines_;
  bool json_;
  Tally open_;
  Tally total_;
  std::string open_mistrusted_;
  std::map<std::string, Tally> formats_;
  std::optional<Verdict> first_failure_;
  Json verdicts_ = Json::array();
  Json notes_ = Json::array();
};

}  // namespace lanewise::program
