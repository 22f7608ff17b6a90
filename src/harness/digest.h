// One number for all of a tensor's y, the same on every device and machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/compare.h"
#include "harness/verify.h"

namespace lanewise {

/// 32 hexadecimal digits, the high half first.
std::string to_string(const Fingerprint& hash);

/// The x of a digest, for one matrix: [tokens][cols], every element an integer over 2^15, |x| < 4, exact in fp32.
/// Element k of token t is (a + b + c + d) - 2 * 65535 over 2^15, with a, b, c, d the 16-bit parts of the (k+1)-th
/// number of SplitMix64 (harness/fill.h) seeded with t. It depends on t and k alone.
std::vector<float> digest_x(std::uint64_t tokens, std::uint64_t cols);

/// XXH3 (128 bits) of y for that x: fp32, [tokens][rows], little-endian. The planes are part of the result's meaning: a
/// quantised matrix has another digest for each. `options` gives threads, progress, cancellation and, as a replacement,
/// another kernel; `kernel` names one, empty for the selected. Errors: those of select(); LW_ERROR_MEMORY.
/// LW_ERROR_INTERNAL with "cancelled" where it was cancelled.
Result<Fingerprint> digest_matrix(const MatrixView& w, std::uint64_t tokens, Planes planes,
                                  std::string_view kernel = {}, const VerifyOptions& options = {});

/// The digest of a model: XXH3 (128 bits) over, for each matrix in the order given, its name, a zero byte and the 16
/// bytes of its digest, high half first, each half big-endian (as the digits are printed).
class ModelDigest {
 public:
  ModelDigest();
  ~ModelDigest();
  ModelDigest(const ModelDigest&) = delete;
  ModelDigest& operator=(const ModelDigest&) = delete;

  void add(std::string_view name, const Fingerprint& hash);
  [[nodiscard]] Fingerprint result() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lanewise
