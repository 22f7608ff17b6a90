// What tuning and the lab measure on: a device, a matrix on it, and one window of products with it as a subject of
// tune::search(). tune_cpu.h and tune_gpu.h have one each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device.h"
#include "harness/case.h"
#include "options.h"
#include "tune/candidates.h"
#include "tune/fingerprint.h"
#include "tune/search.h"

namespace lanewise::program {

/// A matrix to measure: all of a case but its tokens and kernel. Its rows repeat every base_rows, so that every output
/// can be compared with the scalar kernel's at the price of so many rows.
struct MatrixWish {
  Format format = Format::Q4_K;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  Layout layout = Layout::raw;
  std::uint64_t seed = 1;

  [[nodiscard]] MatrixView view() const { return {format, rows, cols, nullptr}; }
};
/// A prime: no two tiles of a kernel's hold the same rows in the same places.
inline constexpr std::uint64_t base_rows = 251;

/// W on the host: the first base_rows rows of it, and what products with them must be.
class BaseMatrix {
 public:
  explicit BaseMatrix(const MatrixWish& wish);
  /// Rows begin .. end-1 of the whole W, into `out` (of row `begin`).
  void copy_rows(std::uint64_t begin, std::uint64_t end, std::uint8_t* out) const;
  /// By the scalar kernel: [tokens][min(rows, base_rows)].
  [[nodiscard]] std::vector<float> expected(const Activation& x, unsigned threads) const;
  /// Values of y, [tokens][rows], that differ.
  [[nodiscard]] std::uint64_t count_wrong(const std::vector<float>& expected, const float* y,
                                          std::uint64_t tokens) const;
  [[nodiscard]] const MatrixWish& wish() const { return wish_; }

 private:
  MatrixWish wish_;
  std::uint64_t base_;
  std::vector<std::uint8_t> bytes_;
};

/// x for a matrix: as the benchmark's.
Result<std::unique_ptr<Activation>> make_activation(const MatrixWish& wish, Planes planes, std::uint64_t tokens,
                                                    std::vector<float>& x);

/// A large product that runs beside each of those measured: as q does beside k and v.
struct BesideWish {
  Format format;
  std::uint64_t rows;
};

class TuneMatrix {
 public:
  virtual ~TuneMatrix() = default;
  TuneMatrix(const TuneMatrix&) = delete;
  TuneMatrix& operator=(const TuneMatrix&) = delete;
  /// Products of that window by these tiles. The matrix outlives the subject.
  virtual Result<std::unique_ptr<tune::Subject>> window(std::uint64_t tokens,
                                                        std::vector<tune::Candidate> candidates) = 0;

 protected:
  TuneMatrix() = default;
};

class TuneDevice {
 public:
  virtual ~TuneDevice() = default;
  TuneDevice(const TuneDevice&) = delete;
  TuneDevice& operator=(const TuneDevice&) = delete;

  [[nodiscard]] virtual tune::Machine machine() const = 0;
  [[nodiscard]] tune::Fingerprint fingerprint() const { return tune::fingerprint_of(machine().gpu); }
  /// The layout of a format's bits where none is asked for: the library's fastest.
  [[nodiscard]] virtual Layout usual_layout(const FormatInfo& info) const = 0;
  /// What rounds are held to, and how long one time is, in seconds, where nobody is in a hurry.
  [[nodiscard]] virtual tune::Limits limits() const = 0;
  /// Room for copies of the largest of these matrices. Errors: LW_ERROR_MEMORY.
  virtual Outcome choose_memory(const std::vector<MatrixWish>& wishes) = 0;
  virtual Result<std::unique_ptr<TuneMatrix>> matrix(const MatrixWish& wish, Planes planes,
                                                     const std::optional<BesideWish>& beside) = 0;
  /// Products of several matrices of one format and K with one x: candidate 0 a launch or call each, as concurrent as
  /// the device has them, candidate 1 one for all. The device outlives it.
  virtual Result<std::unique_ptr<tune::Subject>> together(const std::vector<MatrixWish>& wishes, Planes planes,
                                                          std::uint64_t tokens) = 0;
  /// A line of what it is, for a person.
  [[nodiscard]] virtual std::string about() const = 0;

 protected:
  TuneDevice() = default;
};

struct TuneDeviceOptions {
  std::uint64_t bytes = 0;    ///< of copies of W; 0: the device's usual
  double timing_seconds = 0;  ///< that one time takes at least; 0: the device's usual

  /// --timing and --bytes.
  void declare(Arguments& arguments);
};
/// The one that the options name. check_device() has passed.
Result<std::unique_ptr<TuneDevice>> open_tune_device(const DeviceOptions& device, const TuneDeviceOptions& options);

std::unique_ptr<TuneDevice> make_tune_cpu(unsigned threads, const TuneDeviceOptions& options);
/// `timer` outlives it.
std::unique_ptr<TuneDevice> make_tune_gpu(std::shared_ptr<gpu::Device> device, gpu::Timer& timer,
                                          const TuneDeviceOptions& options);

}  // namespace lanewise::program
