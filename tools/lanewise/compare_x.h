// The x that outputs are compared on: Gaussian, or what files give for their K.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace lanewise::program {

/// x of one K.
struct ComparedX {
  std::uint64_t tokens = 0;
  std::uint64_t cols = 0;
  bool given = false;            ///< by a file
  std::vector<float> values;     ///< [tokens][cols]
  std::vector<double> in_lanes;  ///< [ceil(tokens / lanes)][cols][lanes], those past the last token zero
  static constexpr std::uint64_t lanes = 8;

  [[nodiscard]] std::uint64_t blocks() const { return (tokens + lanes - 1) / lanes; }
  [[nodiscard]] const double* block(std::uint64_t index) const { return in_lanes.data() + index * cols * lanes; }
};

class ComparedXs {
 public:
  static constexpr std::uint64_t gauss_tokens = 8;
  static constexpr std::uint64_t gauss_seed = 1;
  static constexpr std::uint64_t most_tokens = 4096;

  /// Reads .npy files, at most one a K. Errors name the file: those of parse_npy(), two of one K, no tokens or more
  /// than most_tokens, an element that isn't finite.
  Outcome read(const std::vector<std::string>& paths);
  /// Of a file where one has this K, otherwise Gaussian. Valid until the next call.
  const ComparedX& of(std::uint64_t cols);
  /// K of the files that no of() has asked for.
  [[nodiscard]] std::vector<std::uint64_t> unused() const;

 private:
  struct Given {
    ComparedX x;
    bool used = false;
  };
  std::vector<Given> given_;
  ComparedX gauss_;
};

}  // namespace lanewise::program
