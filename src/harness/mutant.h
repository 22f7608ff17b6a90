// Planted faults: kernels that are wrong in one way each, run in the kernel's place through VerifyOptions::replacement,
// to prove that the harness tells them from a sound one. On every format, without knowing any.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/verify.h"

namespace lanewise {

enum class Fault : std::uint8_t {
#define LW_FAULT(name, meaning) name,
#include "harness/faults.def"
#undef LW_FAULT
};

inline constexpr std::array all_faults{
#define LW_FAULT(name, meaning) Fault::name,
#include "harness/faults.def"
#undef LW_FAULT
};

std::string_view fault_name(Fault fault);
std::string_view fault_meaning(Fault fault);

/// A faulty kernel for one W and x, and where its fault lies.
struct Mutant {
  Launch launch;
  std::uint64_t row = 0;              ///< a row that it gets wrong
  std::uint64_t element = 0;          ///< of that row: the weight that is wrong, where it is one
  std::vector<std::uint8_t> weights;  ///< the row as the mutant reads it, where it misreads it; empty otherwise
};

/// The fault `fault` in the scalar kernel. `w` and `x` ([tokens][w.cols], fp32) are those of the case and must outlive
/// the mutant; two rows at least. Faults of one weight take one whose x is large in token 0. Error:
/// LW_ERROR_UNSUPPORTED where these W and x leave no room for the fault (one row; every block of a row with the same
/// scale).
Result<Mutant> make_mutant(Fault fault, const MatrixView& w, const float* x, std::uint64_t tokens, Planes planes);

}  // namespace lanewise
