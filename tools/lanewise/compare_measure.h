// How far a quantised matrix is from its reference: weights and outputs, in double.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/cpu/pool.h"
#include "compare_x.h"
#include "device.h"
#include "formats/matrix_view.h"

namespace lanewise::program {

/// Of values against their reference. Pairs of which one isn't finite are counted and in no other figure.
struct ValueErrors {
  std::uint64_t values = 0;  ///< that figures are over
  std::uint64_t not_finite = 0;
  double squares = 0;            ///< sum of (value - reference)^2
  double reference_squares = 0;  ///< of the reference's
  double value_squares = 0;
  double products = 0;
  double worst = 0;  ///< largest |value - reference|

  void take(double value, double reference);
  void add(const ValueErrors& other);

  /// sqrt(sum of (value - reference)^2 / sum of reference^2); nothing where the reference is all zero but the values
  /// aren't.
  [[nodiscard]] std::optional<double> relative_rms() const;
  /// -20 log10 of that; nothing where it is 0.
  [[nodiscard]] std::optional<double> snr_db() const;
  [[nodiscard]] std::optional<double> cosine() const;
  /// The largest over the RMS of the reference.
  [[nodiscard]] std::optional<double> worst_over_rms() const;
};

struct MatrixErrors {
  ValueErrors weights;
  ValueErrors outputs;     ///< y of the library against float64 over the reference's weights; none for vectors
  ValueErrors arithmetic;  ///< y of the library against float64 over the same weights: what the format has no part in
};

/// A matrix and the float that its model keeps beside it (NVFP4), which every weight is multiplied by.
struct ScaledMatrix {
  MatrixView w;
  double scale = 1;
};

class ErrorMeter {
 public:
  static Result<ErrorMeter> open(const DeviceOptions& options, Planes planes);

  /// Of each of `others`, of the reference's shape, in their order. Without `x` weights alone. Bits of the results
  /// depend on the matrices and x alone, not on the threads. Errors: those of the library; stop_asked ends it early.
  Result<std::vector<MatrixErrors>> measure(const ScaledMatrix& reference, const std::vector<ScaledMatrix>& others,
                                            const ComparedX* x);

 private:
  ErrorMeter(DeviceHandle device, Planes planes, unsigned threads)
      : device_(std::move(device)), planes_(planes), pool_(std::make_unique<Pool>(threads)) {}
  Result<std::vector<float>> multiply(const MatrixView& w, const ComparedX& x);

  DeviceHandle device_;
  Planes planes_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace lanewise::program
