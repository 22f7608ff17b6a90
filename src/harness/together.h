// Outputs of a case whose matrices are computed together: a vector of them for each matrix and token, or for each id of
// a token's.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/case.h"
#include "harness/compare.h"
#include "harness/on_gpu.h"

namespace lanewise {

class Together {
 public:
  /// Memory for the outputs, poisoned; `gap` elements between a vector's rows and the next vector.
  static Result<Together> create(const Case& problem, std::uint64_t tokens, std::uint64_t gap);

  [[nodiscard]] const std::vector<Vectors>& vectors() const { return vectors_; }
  /// Every output against `reference`, [tokens][rows] of the whole W. A difference says W's row and the token.
  void compare(const std::vector<float>& reference, BitCount& count, std::uint64_t& unwritten) const;
  /// Bytes between the vectors and around them that hold something else now.
  [[nodiscard]] std::uint64_t damaged() const;

 private:
  explicit Together(const Case& problem) : problem_(problem) {}

  Case problem_;
  std::vector<std::int32_t> ids_;
  std::vector<Fenced> memory_;
  std::vector<Vectors> vectors_;
};

}  // namespace lanewise
