// Runs a case and judges it: every output bit against the second implementation, every decoded weight bit for bit, and
// the error of each output against float64 and the bound derived for that output. docs/harness.md explains the verdict.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/gpu/gpu.h"
#include "harness/case.h"
#include "kernels/kernel.h"

namespace lanewise {

/// Where two results first differ (by row, then token).
struct Difference {
  std::uint64_t row = 0;
  std::uint64_t token = 0;    ///< of an output
  std::uint64_t element = 0;  ///< of a weight
  std::uint32_t got = 0;      ///< bits; of the output's type, fp32 for a weight
  std::uint32_t expected = 0;
  bool unwritten = false;  ///< the output still holds the harness's poison
};

/// Two arrays compared by memcmp.
struct BitCount {
  std::uint64_t compared = 0;
  std::uint64_t differing = 0;       ///< elements
  std::uint64_t differing_bits = 0;  ///< bits of them
  std::optional<Difference> first;
};

/// Outputs against float64. Ratios are over the outputs that have a finite bound.
struct ErrorCount {
  std::uint64_t rows = 0;       ///< checked: all of the matrix, or a sample spread evenly over it
  std::uint64_t rows_of = 0;    ///< rows of the matrix
  std::uint64_t outputs = 0;    ///< checked
  std::uint64_t unbounded = 0;  ///< of these, without a finite bound (NaN or infinite by the definition): bits only
  std::uint64_t outside = 0;    ///< of these, further from float64 than the bound allows
  std::uint64_t integers = 0;   ///< Fill::exact: of these, those that must have no error at all ...
  std::uint64_t not_exact = 0;  ///< ... and had one
  double worst_ratio = 0;       ///< |y - exact| / bound
  double worst_relative = 0;    ///< |y - exact| / sum of |terms|
  std::uint64_t worst_row = 0;  ///< of worst_ratio
  std::uint64_t worst_token = 0;
};

enum class VerdictKind : std::uint8_t {
  passed,
  failed,      ///< something differs: see failure()
  mistrusted,  ///< nothing differs, but this case could hardly have shown it: see `mistrusted`
  cancelled,
  error,  ///< the case couldn't be run
};

/// Which keys of a case say more than a plain launch of one matrix: see Case.
struct Launched {
  bool tiled = false;
  bool overlapped = false;
  bool group = false;
  bool experts = false;
  bool apart = false;
};

struct Verdict {
  std::string problem;  ///< reproduces it, with the kernel that ran
  std::string kernel;
  std::string why;  ///< why that kernel
  Launched launched;

  BitCount outputs;         ///< the kernel against the oracle
  BitCount against_scalar;  ///< the kernel against the scalar kernel; nothing compared where it is the scalar one
  BitCount activation;      ///< q of every element and e of every super-block against the oracle's (on a device, the
                            ///< image's too)
  BitCount weights;         ///< dequantize_row against the oracle's decoding, every element
  BitCount repeated;        ///< a product against the same one later in a chain of overlapped launches
  ErrorCount errors;
  std::uint64_t unwritten = 0;       ///< outputs that the kernel left alone
  std::uint64_t red_zone_bytes = 0;  ///< changed around y, between its tokens, or before W and x
  bool inputs_changed = false;       ///< W or x differ after the run
  bool bad_ids_taken = false;        ///< of experts: an id out of range changed y, or wasn't reported
  bool sums_fit = true;              ///< every |J_p| and |M_p| stayed below 2^31
  std::string mistrusted;            ///< why, empty: trusted
  std::optional<Error> error;
  bool cancelled = false;

  [[nodiscard]] VerdictKind kind() const;
  [[nodiscard]] bool passed() const { return kind() == VerdictKind::passed; }
  /// One sentence on what failed first; empty unless kind() is failed.
  [[nodiscard]] std::string failure() const;
};

std::string_view verdict_name(VerdictKind kind);
/// One line: kind, problem, counts, worst error, reason.
std::string to_string(const Verdict& verdict);

/// What runs in the kernel's place; see KernelDesc::launch. The tests of the harness plant faults through it.
using Launch = std::function<void(const MatrixView& w, const Activation& x, const OutputView& y,
                                  std::uint64_t row_begin, std::uint64_t row_end)>;

struct VerifyOptions {
  unsigned threads = 0;  ///< 0: as many as this process may use
  /// Called from one thread at a time, with rows done and rows in all (each step of the work counts its rows).
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  const std::atomic<bool>* cancel = nullptr;  ///< set: stops within a chunk of rows; the verdict says `cancelled`
  bool check_weights = true;                  ///< the decoding too
  /// Terms w * x that the float64 reference may take, per matrix and window list: a larger matrix is judged on rows
  /// spread evenly over it, the first and last among them, never fewer than 16.
  std::uint64_t float64_terms = std::uint64_t{1} << 22U;
  Launch replacement;  ///< empty: the kernel's own
  /// Where kernels run and weights are decoded; null: the CPU. Its image of x is compared with the CPU's too, and so
  /// are the bytes that its layout gives back.
  std::shared_ptr<gpu::Device> gpu;
};

/// A synthetic case (`problem.tensor` is empty): W and x are made from its fill and seed.
Verdict verify_case(const Case& problem, const VerifyOptions& options = {});

/// A matrix that the caller holds, `label` its name in the problem string.
Verdict verify_matrix(const MatrixView& w, std::string_view label, std::uint64_t tokens, Planes planes, Fill x_fill,
                      const VerifyOptions& options = {});

/// One verdict for each number of tokens. The oracle, which takes every token by itself, runs once, for the largest;
/// the kernel runs for each. `problem` gives all but tokens, rows, cols and format.
std::vector<Verdict> verify_windows(const MatrixView& w, const Case& problem, std::span<const std::uint64_t> tokens,
                                    const VerifyOptions& options = {});

/// One verdict for each of `runs`, synthetic cases of one W and x: they may differ in tokens, kernel and how they are
/// launched, on a device with memory of its own in their layout too. The references are made once. Of matrices computed
/// together, outputs are compared bit for bit alone, not with float64.
std::vector<Verdict> verify_runs(std::span<const Case> runs, const VerifyOptions& options = {});

}  // namespace lanewise
