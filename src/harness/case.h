// A case of the harness: one problem, told by one string that reproduces it.
//
//   gemv:q4_K:4096x14336:tokens=4:act=x16:layout=raw:kernel=cpu.gemv.q4_K.raw.x16.scalar:fill=gauss:seed=7
//
// The operation, the format, K x rows; then keys in any order, each at most once, a missing one at its default. For a
// matrix of a model file, given beside the string, tensor=NAME says which (':' and '%' in the name as %3A and %25).
// How a device with memory of its own is to launch it:
//
//   tile=2/1/8/4       the numbers of the launch's tiling
//   overlapped=yes     launches that may start while the one before still runs
//   group=33/16/0/47   the rows of W as so many matrices, computed in one launch
//   experts=8          each matrix of the group (one or two; without group= the whole W) as a list of so many experts,
//                      three ids a token
//   apart=4000000      so many rows of zeros between the two halves of W's rows, and more than 2^30 elements of y
//                      between its tokens
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "arithmetic/activation.h"
#include "base/status.h"
#include "formats/formats.h"
#include "harness/fill.h"
#include "layout/layout.h"

namespace lanewise {

struct Case {
  Format format = Format::Q4_K;
  std::uint64_t rows = 1;
  std::uint64_t cols = 256;  ///< K
  std::uint64_t tokens = 1;
  Planes planes = Planes::x16;  ///< act=
  Layout layout = Layout::raw;  ///< layout=
  std::string kernel;           ///< kernel=; empty: what select() takes
  Fill fill = Fill::gauss;      ///< fill=
  std::uint64_t seed = 1;       ///< seed=
  std::string tensor;           ///< tensor=; empty: W is synthetic
  Dtype input = Dtype::f32;     ///< x=f32, f16 or bf16
  Dtype output = Dtype::f32;    ///< y=f32, f16 or bf16
  std::array<std::uint32_t, 4> tile{};
  bool overlapped = false;
  std::vector<std::uint64_t> group{};  ///< rows of each matrix, `rows` in all; empty: one matrix
  std::uint32_t experts = 0;           ///< 0: none
  std::uint64_t apart = 0;

  /// Whether one of the keys above says more than a plain launch of one matrix.
  [[nodiscard]] bool says_how_to_launch() const {
    return tile != std::array<std::uint32_t, 4>{} || overlapped || !group.empty() || experts != 0 || apart != 0;
  }
  /// Whether several matrices are computed together.
  [[nodiscard]] bool is_together() const { return !group.empty() || experts != 0; }
  bool operator==(const Case&) const = default;
};

/// Every key is printed but kernel, tensor, x, y and those of a launch at their defaults; parse_case() gives the same
/// Case back.
std::string to_string(const Case& problem);
/// Errors (LW_ERROR_ARGUMENT) say what is wrong and what would be allowed: an unknown operation, format, key or value,
/// a key given twice, a K that the format's block doesn't divide, a matrix of more bytes than 64 bits count, a group
/// that doesn't add up.
Result<Case> parse_case(std::string_view text);
/// The same checks on a Case made by hand.
Outcome check_case(const Case& problem);

struct Shape {
  std::uint64_t rows;
  std::uint64_t cols;
};

/// Every combination of what is listed.
struct CaseGrid {
  std::vector<Format> formats;
  std::vector<Shape> shapes;
  std::vector<std::uint64_t> tokens{1};
  std::vector<Planes> planes{Planes::x16};
  std::vector<Fill> fills{Fill::gauss};
  std::vector<Layout> layouts{Layout::raw};
  std::uint64_t seed = 1;  ///< of the first case; each further one counts up
};

struct Enumeration {
  std::vector<Case> cases;
  std::uint64_t left_out = 0;  ///< combinations whose K the format's block doesn't divide
};

Enumeration enumerate(const CaseGrid& grid);

/// What `lanewise verify` runs without a model: per format, shapes with fewer than eight super-blocks, a number of them
/// that eight doesn't divide, a short last one, odd row counts and one row; every window; every fill and plane count.
/// Empty `formats`: all.
std::vector<Case> standard_cases(const std::vector<Format>& formats, const std::vector<std::uint64_t>& tokens,
                                 const std::vector<Planes>& planes, std::uint64_t seed = 1);

}  // namespace lanewise
