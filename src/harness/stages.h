// Where two computations of one output part: the first stage, in the order of the arithmetic, that differs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "arithmetic/scalar.h"
#include "base/status.h"
#include "oracle/oracle.h"

namespace lanewise {

/// In the order in which the arithmetic takes them; of the steps, the first differing step counts, and in it the first
/// differing quantity.
enum class Stage : std::uint8_t {
  none,         ///< nothing differs
  poisoned,     ///< whether the token holds a NaN, an infinity or an |x| >= 2^64
  e,            ///< a super-block's exponent
  q,            ///< an element's integer; its xq for float weights
  steps,        ///< how many additions there are
  place,        ///< which accumulator (g, v), at which k, for d or m
  J,            ///< the integer sums of a d-group
  M,            ///< those with the sub-mins
  F,            ///< the value of J or M
  d,            ///< d or m of a d-group; the weight, of a float format
  term,         ///< what is added
  accumulator,  ///< after the addition
  r,            ///< the sum of an eighth
  y,
};

std::string_view stage_name(Stage stage);

struct StageDifference {
  Stage stage = Stage::none;
  std::uint64_t k = 0;  ///< the element, or the first of the super-block or d-group
  std::uint32_t g = 0;  ///< accumulator of the step (and eighth of r)
  std::uint32_t v = 0;
  std::string ours;  ///< the two values, floats with their bits
  std::string theirs;

  [[nodiscard]] bool found() const { return stage != Stage::none; }
};

/// One line: "the traces agree", or the stage, its place and both values.
std::string to_string(const StageDifference& difference);

/// Two traces of kernels of this library.
StageDifference compare_traces(const Trace& ours, const Trace& theirs);

/// A kernel's trace against the oracle's, of the same W, x, row and token; `format` is W's. d of an EXP format is no
/// number that both have (the kernel's is 2^(E-128+e)); there `term` shows what differs. For float weights the oracle
/// holds neither the weight nor the kernel's e, so these show in q, as xq, and in `term`.
StageDifference compare_traces(const Trace& ours, const oracle::Trace& theirs, Format format);

}  // namespace lanewise
