// Lanewise for C++20: owners (RAII) over the C interface of lanewise.h, header-only, so that nothing but the C ABI is
// linked. `get()` gives the C handle for whatever isn't here.
//
// Errors come in two ways, as in <filesystem>: functions throw lw::Error, and those that take a trailing `lw_error&`
// throw nothing, fill it and return a status, or an owner that is empty (false). Without exceptions (-fno-exceptions)
// only the latter exist.
//
// A moved-from owner is empty. Owners may be destroyed in any order.
#ifndef LANEWISE_LANEWISE_HPP
#define LANEWISE_LANEWISE_HPP

#if __cplusplus < 202002L
#error "lanewise.hpp needs C++20; lanewise.h is for C99 and any C++"
#endif

#include <lanewise/lanewise.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lw {

/// What went wrong: what() is the sentence, and holds no memory of its own.
class Error : public std::exception {
 public:
  explicit Error(const lw_error& error) noexcept : error_(error) {}
  [[nodiscard]] const char* what() const noexcept override { return error_.message; }
  [[nodiscard]] lw_status code() const noexcept { return error_.code; }
  /// Byte of the file at which the fault lies, or LW_NO_OFFSET.
  [[nodiscard]] std::uint64_t offset() const noexcept { return error_.offset; }

 private:
  lw_error error_;
};

/// An lw_error to be filled.
[[nodiscard]] inline lw_error make_error() noexcept { return LW_ERROR_INIT; }

namespace detail {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* handle) const noexcept {
    Free(handle);
  }
};
template <class T, auto Free>
using Owner = std::unique_ptr<T, Deleter<Free>>;

inline lw_status refuse(lw_error& error, const char* sentence) noexcept {
  if (error.struct_size != sizeof error) return LW_ERROR_ARGUMENT;
  error.code = LW_ERROR_ARGUMENT;
  error.offset = LW_NO_OFFSET;
  std::size_t i = 0;
  for (; sentence[i] != '\0' && i + 1 < sizeof error.message; ++i) error.message[i] = sentence[i];
  error.message[i] = '\0';
  return LW_ERROR_ARGUMENT;
}

#ifdef __cpp_exceptions
inline void check(lw_status status, const lw_error& error) {
  if (status != LW_OK) throw Error(error);
}
#endif

}  // namespace detail

/// x, or what stands behind it: `tokens` vectors, each `stride` elements after the last one.
struct Input {
  const void* data = nullptr;
  std::uint64_t elements = 0;
  lw_dtype dtype = LW_DTYPE_F32;

  Input(std::span<const float> x) noexcept
      : data(x.data()), elements(x.size()) {}  // NOLINT(google-explicit-constructor)
  Input(const std::vector<float>& x) noexcept
      : data(x.data()), elements(x.size()) {}  // NOLINT(google-explicit-constructor)
  Input(std::span<const std::uint16_t> x, lw_dtype type) noexcept : data(x.data()), elements(x.size()), dtype(type) {}
};

/// y: room for every token, and where each starts (`stride` elements apart; 0: the matrix's rows).
struct Output {
  void* data = nullptr;
  std::uint64_t elements = 0;
  lw_dtype dtype = LW_DTYPE_F32;
  std::uint64_t stride = 0;

  Output(std::span<float> y, std::uint64_t stride_of_y = 0) noexcept  // NOLINT(google-explicit-constructor)
      : data(y.data()), elements(y.size()), stride(stride_of_y) {}
  Output(std::vector<float>& y, std::uint64_t stride_of_y = 0) noexcept  // NOLINT(google-explicit-constructor)
      : data(y.data()), elements(y.size()), stride(stride_of_y) {}
  Output(std::span<std::uint16_t> y, lw_dtype type, std::uint64_t stride_of_y = 0) noexcept
      : data(y.data()), elements(y.size()), dtype(type), stride(stride_of_y) {}

  [[nodiscard]] lw_output raw() const noexcept { return {data, dtype, stride}; }
  /// True where `vectors` vectors of `rows` elements fit.
  [[nodiscard]] bool holds(std::uint64_t vectors, std::uint64_t rows) const noexcept {
    if (vectors == 0 || rows == 0) return true;
    if (elements < rows) return false;
    const std::uint64_t step = stride == 0 ? rows : stride;
    return vectors - 1 <= (elements - rows) / step;
  }
};

/// A GGUF file.
class Model {
 public:
  Model() noexcept = default;
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  [[nodiscard]] lw_model* get() const noexcept { return handle_.get(); }

  static Model open(const char* path, lw_error& error) noexcept {
    Model model;
    lw_model* made = nullptr;
    lw_model_open(path, &made, &error);
    model.handle_.reset(made);
    return model;
  }
  /// `bytes` stay with the caller while the model and its matrices live.
  static Model open_bytes(std::span<const std::byte> bytes, lw_error& error) noexcept {
    Model model;
    lw_model* made = nullptr;
    lw_model_open_bytes(bytes.data(), bytes.size(), &made, &error);
    model.handle_.reset(made);
    return model;
  }
  [[nodiscard]] std::uint64_t size() const noexcept { return lw_model_tensor_count(get()); }
  lw_status tensor(std::uint64_t index, lw_tensor_info& out, lw_error& error) const noexcept {
    return lw_model_tensor(get(), index, &out, &error);
  }
  lw_status find(const char* name, lw_tensor_info& out, lw_error& error) const noexcept {
    return lw_model_find(get(), name, &out, &error);
  }

#ifdef __cpp_exceptions
  explicit Model(const char* path) {
    lw_error error = LW_ERROR_INIT;
    *this = open(path, error);
    detail::check(error.code, error);
  }
  explicit Model(const std::string& path) : Model(path.c_str()) {}
  explicit Model(std::span<const std::byte> bytes) {
    lw_error error = LW_ERROR_INIT;
    *this = open_bytes(bytes, error);
    detail::check(error.code, error);
  }
  [[nodiscard]] lw_tensor_info tensor(std::uint64_t index) const {
    lw_error error = LW_ERROR_INIT;
    lw_tensor_info info = LW_TENSOR_INFO_INIT;
    detail::check(tensor(index, info, error), error);
    return info;
  }
  [[nodiscard]] lw_tensor_info find(const std::string& name) const {
    lw_error error = LW_ERROR_INIT;
    lw_tensor_info info = LW_TENSOR_INFO_INIT;
    detail::check(find(name.c_str(), info, error), error);
    return info;
  }
  /// All of them, in the file's order; what they point at lives as long as the model.
  [[nodiscard]] std::vector<lw_tensor_info> tensors() const {
    std::vector<lw_tensor_info> all;
    all.reserve(size());
    for (std::uint64_t i = 0; i < size(); ++i) all.push_back(tensor(i));
    return all;
  }
#endif

 private:
  detail::Owner<lw_model, lw_model_close> handle_;
};

/// See lw_device_options.
struct DeviceOptions {
  std::uint32_t threads = 0;
  const char* name = nullptr;
  const char* kernel = nullptr;
  lw_parallel_for parallel_for = nullptr;
  void* parallel_user = nullptr;
  const char* layout = nullptr;  ///< "raw", "rows16" or "frag"
  void* stream = nullptr;        ///< of a CUDA device
  bool overlapped = false;
};

class Device {
 public:
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  [[nodiscard]] lw_device* get() const noexcept { return handle_.get(); }

  static Device open(const DeviceOptions& options, lw_error& error) noexcept {
    const lw_device_options raw = {sizeof raw,     options.threads,      options.name,
                                   options.kernel, options.parallel_for, options.parallel_user,
                                   options.layout, options.stream,       options.overlapped ? 1 : 0};
    lw_device* made = nullptr;
    lw_device_open(&raw, &made, &error);
    return Device(made);
  }
  /// See lw_device_on_stream.
  [[nodiscard]] Device on_stream(void* stream, lw_error& error) const noexcept {
    lw_device* made = nullptr;
    lw_device_on_stream(get(), stream, &made, &error);
    return Device(made);
  }
  /// See lw_device_wait.
  lw_status wait(lw_error& error) const noexcept { return lw_device_wait(get(), &error); }
  /// Empty (zeros) for an empty device.
  [[nodiscard]] lw_device_info info() const noexcept {
    lw_device_info out = LW_DEVICE_INFO_INIT;
    lw_device_query(get(), &out);
    return out;
  }

#ifdef __cpp_exceptions
  Device() : Device(DeviceOptions{}) {}
  explicit Device(const DeviceOptions& options) {
    lw_error error = LW_ERROR_INIT;
    *this = open(options, error);
    detail::check(error.code, error);
  }
  [[nodiscard]] Device on_stream(void* stream) const {
    lw_error error = LW_ERROR_INIT;
    Device made = on_stream(stream, error);
    detail::check(error.code, error);
    return made;
  }
  void wait() const {
    lw_error error = LW_ERROR_INIT;
    detail::check(wait(error), error);
  }
#endif

 private:
  explicit Device(lw_device* made) noexcept : handle_(made) {}
  detail::Owner<lw_device, lw_device_close> handle_;
};

class Matrix {
 public:
  Matrix() noexcept = default;
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  [[nodiscard]] lw_matrix* get() const noexcept { return handle_.get(); }

  /// "NAME" or "NAME[i]".
  static Matrix from_tensor(const Device& device, const Model& model, const char* name, lw_error& error) noexcept {
    Matrix matrix;
    lw_matrix* made = nullptr;
    lw_matrix_from_tensor(device.get(), model.get(), name, &made, &error);
    matrix.handle_.reset(made);
    return matrix;
  }
  /// `bytes` stay with the caller while the matrix lives.
  static Matrix from_bytes(const Device& device, lw_format format, std::uint64_t rows, std::uint64_t cols,
                           std::span<const std::byte> bytes, lw_error& error) noexcept {
    Matrix matrix;
    lw_matrix* made = nullptr;
    lw_matrix_from_bytes(device.get(), format, rows, cols, bytes.data(), bytes.size(), &made, &error);
    matrix.handle_.reset(made);
    return matrix;
  }
  /// Zeros for an empty matrix.
  [[nodiscard]] lw_matrix_info info() const noexcept {
    lw_matrix_info out = LW_MATRIX_INFO_INIT;
    lw_matrix_query(get(), &out);
    return out;
  }
  [[nodiscard]] std::uint64_t rows() const noexcept { return info().rows; }
  [[nodiscard]] std::uint64_t cols() const noexcept { return info().cols; }
  [[nodiscard]] lw_format format() const noexcept { return info().format; }

#ifdef __cpp_exceptions
  Matrix(const Device& device, const Model& model, const std::string& name) {
    lw_error error = LW_ERROR_INIT;
    *this = from_tensor(device, model, name.c_str(), error);
    detail::check(error.code, error);
  }
  Matrix(const Device& device, lw_format format, std::uint64_t rows, std::uint64_t cols,
         std::span<const std::byte> bytes) {
    lw_error error = LW_ERROR_INIT;
    *this = from_bytes(device, format, rows, cols, bytes, error);
    detail::check(error.code, error);
  }
#endif

 private:
  detail::Owner<lw_matrix, lw_matrix_free> handle_;
};

class Activation {
 public:
  Activation() noexcept = default;
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  [[nodiscard]] lw_activation* get() const noexcept { return handle_.get(); }

  /// Room for `max_tokens` vectors of `cols` elements.
  static Activation create(const Device& device, std::uint64_t cols, std::uint64_t max_tokens, lw_planes planes,
                           lw_error& error) noexcept {
    Activation activation;
    lw_activation* made = nullptr;
    lw_activation_create(device.get(), planes, max_tokens, cols, &made, &error);
    activation.handle_.reset(made);
    return activation;
  }
  /// The same in the caller's memory (64-byte aligned, as long as lw_activation_workspace says).
  static Activation create_in(const Device& device, std::uint64_t cols, std::uint64_t max_tokens, lw_planes planes,
                              std::span<std::byte> workspace, lw_error& error) noexcept {
    Activation activation;
    lw_activation* made = nullptr;
    lw_activation_create_in(device.get(), planes, max_tokens, cols, workspace.data(), workspace.size(), &made, &error);
    activation.handle_.reset(made);
    return activation;
  }
  /// Converts x: as many tokens as it has vectors of `cols` elements, one after another. Allocates nothing.
  lw_status set(const Input& x, lw_error& error) noexcept {
    const std::uint64_t cols = info().cols;
    if (cols == 0) return detail::refuse(error, "an empty activation can't be set");
    if (x.elements % cols != 0)
      return detail::refuse(error, "the elements of x are no whole vectors of the activation");
    return lw_activation_set(get(), x.dtype, x.data, x.elements / cols, 0, &error);
  }
  /// Zeros for an empty activation.
  [[nodiscard]] lw_activation_info info() const noexcept {
    lw_activation_info out = LW_ACTIVATION_INFO_INIT;
    lw_activation_query(get(), &out);
    return out;
  }
  [[nodiscard]] std::uint64_t tokens() const noexcept { return info().tokens; }
  [[nodiscard]] std::uint64_t cols() const noexcept { return info().cols; }

#ifdef __cpp_exceptions
  /// Room for `max_tokens` vectors, to be set.
  Activation(const Device& device, std::uint64_t cols, std::uint64_t max_tokens = 1, lw_planes planes = LW_X16) {
    lw_error error = LW_ERROR_INIT;
    *this = create(device, cols, max_tokens, planes, error);
    detail::check(error.code, error);
  }
  /// Room for x, and set to it.
  Activation(const Device& device, const Input& x, std::uint64_t cols, lw_planes planes = LW_X16)
      : Activation(device, cols, cols == 0 ? 0 : x.elements / cols, planes) {
    set(x);
  }
  void set(const Input& x) {
    lw_error error = LW_ERROR_INIT;
    detail::check(set(x, error), error);
  }
#endif

 private:
  detail::Owner<lw_activation, lw_activation_free> handle_;
};

/// y = W * x for every token of the activation. Allocates nothing.
inline lw_status gemv(const Device& device, const Matrix& w, const Activation& x, const Output& y,
                      lw_error& error) noexcept {
  if (!y.holds(x.tokens(), w.rows())) return detail::refuse(error, "y has no room for every row of every token");
  return lw_gemv(device.get(), w.get(), x.get(), y.raw(), &error);
}

/// lw_gemv_group, the arrays as they are there; ys[i] is for matrices[i].
inline lw_status gemv_group(const Device& device, std::span<const lw_matrix* const> matrices, const Activation& x,
                            std::span<const lw_output> ys, lw_error& error) noexcept {
  if (matrices.size() != ys.size()) return detail::refuse(error, "a group needs one y for each matrix");
  return lw_gemv_group(device.get(), matrices.size(), matrices.data(), x.get(), ys.data(), &error);
}

/// lw_gemv_experts_group; matrices[l * count + e] is expert e of list l, ys[l] what its outputs go to, without checks
/// of their room.
inline lw_status gemv_experts_group(const Device& device, std::uint64_t count,
                                    std::span<const lw_matrix* const> matrices, const Activation& x,
                                    std::span<const std::int32_t> ids, std::span<const lw_output> ys,
                                    lw_error& error) noexcept {
  const std::uint64_t tokens = x.tokens();
  if (tokens == 0 ? !ids.empty() : ids.size() % tokens != 0) {
    return detail::refuse(error, "the ids are not the same number for every token");
  }
  if (matrices.size() != count * ys.size()) return detail::refuse(error, "a list of experts needs `count` of them");
  return lw_gemv_experts_group(device.get(), ys.size(), count, matrices.data(), x.get(), ids.data(),
                               tokens == 0 ? 0 : ids.size() / tokens, ys.data(), &error);
}

/// lw_gemv_experts; `ids` holds the same number of experts for every token.
inline lw_status gemv_experts(const Device& device, std::span<const lw_matrix* const> matrices, const Activation& x,
                              std::span<const std::int32_t> ids, const Output& y, lw_error& error) noexcept {
  const std::uint64_t tokens = x.tokens();
  if (tokens == 0 ? !ids.empty() : ids.size() % tokens != 0) {
    return detail::refuse(error, "the ids are not the same number for every token");
  }
  lw_matrix_info info = LW_MATRIX_INFO_INIT;
  if (!matrices.empty()) lw_matrix_query(matrices[0], &info);
  if (!y.holds(ids.size(), info.rows)) return detail::refuse(error, "y has no room for every row of every id");
  return lw_gemv_experts(device.get(), matrices.size(), matrices.data(), x.get(), ids.data(),
                         tokens == 0 ? 0 : ids.size() / tokens, y.raw(), &error);
}

#ifdef __cpp_exceptions
inline void gemv(const Device& device, const Matrix& w, const Activation& x, const Output& y) {
  lw_error error = LW_ERROR_INIT;
  detail::check(gemv(device, w, x, y, error), error);
}
inline void gemv_group(const Device& device, std::span<const lw_matrix* const> matrices, const Activation& x,
                       std::span<const lw_output> ys) {
  lw_error error = LW_ERROR_INIT;
  detail::check(gemv_group(device, matrices, x, ys, error), error);
}
inline void gemv_experts_group(const Device& device, std::uint64_t count, std::span<const lw_matrix* const> matrices,
                               const Activation& x, std::span<const std::int32_t> ids, std::span<const lw_output> ys) {
  lw_error error = LW_ERROR_INIT;
  detail::check(gemv_experts_group(device, count, matrices, x, ids, ys, error), error);
}
inline void gemv_experts(const Device& device, std::span<const lw_matrix* const> matrices, const Activation& x,
                         std::span<const std::int32_t> ids, const Output& y) {
  lw_error error = LW_ERROR_INIT;
  detail::check(gemv_experts(device, matrices, x, ids, y, error), error);
}
/// Decodes whole blocks to fp32: out.size() weights.
inline void dequantize(lw_format format, std::span<const std::byte> data, std::span<float> out) {
  lw_error error = LW_ERROR_INIT;
  detail::check(lw_dequantize(format, data.data(), data.size(), out.size(), out.data(), &error), error);
}
#endif

}  // namespace lw

#endif
