// CUDA devices through the runtime, which is linked statically and loads the driver at the first call.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <string>

#include "backends/cuda/activation.h"
#include "backends/cuda/cuda.h"
#include "backends/cuda/route.h"
#include "backends/cuda/units.h"

namespace lanewise::cuda {
namespace {

using gpu::Device;
using gpu::DeviceInfo;

// What the driver answers for ever after, since it has given up the context.
bool is_final(cudaError_t error) {
  constexpr std::array finals = {
      cudaErrorIllegalAddress,     cudaErrorLaunchFailure,      cudaErrorLaunchTimeout,
      cudaErrorIllegalInstruction, cudaErrorMisalignedAddress,  cudaErrorInvalidAddressSpace,
      cudaErrorInvalidPc,          cudaErrorHardwareStackError, cudaErrorAssert,
      cudaErrorECCUncorrectable,   cudaErrorContextIsDestroyed, cudaErrorNvlinkUncorrectable,
      cudaErrorTensorMemoryLeak,
  };
  return std::ranges::find(finals, error) != finals.end();
}

// Success, or an error of ours; the runtime's memory of the last error is cleared, so that nobody takes it for theirs.
Outcome check(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return Done{};
  (void)cudaGetLastError();
  const Status code = error == cudaErrorMemoryAllocation ? LW_ERROR_MEMORY : LW_ERROR_DEVICE;
  std::string message = what + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")";
  if (is_final(error)) {
    message +=
        "; the driver has given up this process's context on the device, for this call or an earlier one: "
        "nothing runs there until the process starts anew";
  }
  return make_error(code, std::move(message));
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// The driver's functions that leave the caller's context alone, without linking the driver.
struct Driver {
  CUresult (*get_device)(CUdevice*, int) = nullptr;
  CUresult (*retain)(CUcontext*, CUdevice) = nullptr;
  CUresult (*release)(CUdevice) = nullptr;
  CUresult (*get_current)(CUcontext*) = nullptr;
  CUresult (*set_current)(CUcontext) = nullptr;
};

template <class Function>
Outcome find_function(const char* name, Function& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
  LW_TRY(check(error, std::string("looking for ") + name + " in the CUDA driver"));
  if (result != cudaDriverEntryPointSuccess || found == nullptr) {
    return make_error(LW_ERROR_DEVICE, std::string("the CUDA driver has no ") + name);
  }
  function = reinterpret_cast<Function>(found);
  return Done{};
}

Result<Driver> find_driver() {
  Driver driver;
  LW_TRY(find_function("cuDeviceGet", driver.get_device));
  LW_TRY(find_function("cuDevicePrimaryCtxRetain", driver.retain));
  LW_TRY(find_function("cuDevicePrimaryCtxRelease", driver.release));
  LW_TRY(find_function("cuCtxGetCurrent", driver.get_current));
  LW_TRY(find_function("cuCtxSetCurrent", driver.set_current));
  return driver;
}

Outcome check_driver(CUresult result, const std::string& what) {
  if (result == CUDA_SUCCESS) return Done{};
  return make_error(result == CUDA_ERROR_OUT_OF_MEMORY ? LW_ERROR_MEMORY : LW_ERROR_DEVICE,
                    what + ": error " + std::to_string(result) + " of the CUDA driver");
}

// The device's context is current in the calling thread while it lives; then again what was before.
class Current {
 public:
  Current(const Driver& driver, CUcontext context) : driver_(driver) {
    if (driver_.get_current(&before_) != CUDA_SUCCESS) before_ = nullptr;
    changed_ = before_ != context;
    if (changed_) (void)driver_.set_current(context);  // a failure shows in the call that follows
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current() {
    if (changed_) (void)driver_.set_current(before_);
  }

 private:
  const Driver& driver_;
  CUcontext before_ = nullptr;
  bool changed_ = false;
};

Result<int> count_devices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  (void)cudaGetLastError();
  if (error == cudaSuccess || error == cudaErrorNoDevice) {
    return make_error(LW_ERROR_NOT_FOUND, "the CUDA driver finds no device on this machine");
  }
  int driver = 0;
  (void)cudaDriverGetVersion(&driver);
  if (driver == 0) return make_error(LW_ERROR_NOT_FOUND, "no CUDA driver is installed on this machine (libcuda.so.1)");
  if (error == cudaErrorInsufficientDriver) {
    return make_error(LW_ERROR_NOT_FOUND, "the CUDA driver is of version " + version_text(driver) +
                                              ", this build needs " + version_text(CUDART_VERSION) + " or newer");
  }
  return check(error, "looking for CUDA devices").error();
}

Result<DeviceInfo> describe(int ordinal) {
  const std::string what = "asking CUDA device " + std::to_string(ordinal) + " what it is";
  DeviceInfo info;
  info.backend = "cuda";
  info.ordinal = static_cast<std::uint32_t>(ordinal);
  cudaDeviceProp properties{};
  LW_TRY(check(cudaGetDeviceProperties(&properties, ordinal), what));
  info.name = properties.name;
  info.major = static_cast<std::uint32_t>(properties.major);
  info.minor = static_cast<std::uint32_t>(properties.minor);
  info.multiprocessors = static_cast<std::uint32_t>(properties.multiProcessorCount);
  info.shared_bytes = static_cast<std::uint32_t>(properties.sharedMemPerBlockOptin);
  info.memory_bytes = properties.totalGlobalMem;
  const std::string capability = std::to_string(info.major) + "." + std::to_string(info.minor);
  info.about = "compute capability " + capability + ", " + std::to_string(info.multiprocessors) + " multiprocessors";
  int driver = 0;
  (void)cudaDriverGetVersion(&driver);
  info.driver = "CUDA " + version_text(driver);
  info.capabilities = capabilities(info.major, info.minor);
  if ((info.capabilities & CAP_SM75) == 0) {
    info.why_not = "compute capability " + capability + ": kernels need 7.5 at least";
  } else if (!code_runs_on(built_for(), info.major, info.minor)) {
    info.why_not = "compute capability " + capability + ": this build holds code for " + std::string(built_for()) +
                   " alone (CMAKE_CUDA_ARCHITECTURES)";
  }
  return info;
}

class RuntimeDevice final : public Device {
 public:
  explicit RuntimeDevice(DeviceInfo info) : info_(std::move(info)) {}
  RuntimeDevice(const RuntimeDevice&) = delete;
  RuntimeDevice& operator=(const RuntimeDevice&) = delete;
  ~RuntimeDevice() override {
    if (context_ == nullptr) return;
    if (stream_ != nullptr) {
      const Current current(driver_, context_);
      (void)cudaStreamDestroy(stream_);
    }
    (void)driver_.release(device_);
  }

  Outcome open() {
    LW_ASSIGN(driver, find_driver());
    driver_ = driver;
    const std::string what = "opening CUDA device " + std::to_string(info_.ordinal);
    LW_TRY(check_driver(driver_.get_device(&device_, static_cast<int>(info_.ordinal)), what));
    LW_TRY(check_driver(driver_.retain(&context_, device_), what));
    const Current current(driver_, context_);
    LW_TRY(check(static_cast<cudaError_t>(find_code()), what));
    return check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), what);
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  Result<std::uint8_t*> allocate(std::uint64_t bytes, std::uint64_t) override {
    const Current current(driver_, context_);
    void* memory = nullptr;
    LW_TRY(check(cudaMalloc(&memory, bytes), "allocating " + std::to_string(bytes) + " bytes on " + name()));
    return static_cast<std::uint8_t*>(memory);
  }
  void release(std::uint8_t* memory) noexcept override {
    const Current current(driver_, context_);
    if (cudaFree(memory) != cudaSuccess) (void)cudaGetLastError();
  }
  Outcome copy(void* to, const void* from, std::uint64_t bytes) override {
    if (bytes == 0) return Done{};
    const Current current(driver_, context_);
    const std::string what = "copying " + std::to_string(bytes) + " bytes to or from " + name();
    LW_TRY(check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), what));
    return check(cudaStreamSynchronize(stream_), what);
  }
  Outcome fill(void* to, std::uint8_t byte, std::uint64_t bytes) override {
    if (bytes == 0) return Done{};
    const Current current(driver_, context_);
    const std::string what = "filling " + std::to_string(bytes) + " bytes on " + name();
    LW_TRY(check(cudaMemsetAsync(to, byte, bytes, stream_), what));
    return check(cudaStreamSynchronize(stream_), what);
  }
  Outcome check_memory(const void* memory, std::string_view what) override {
    const Current current(driver_, context_);
    cudaPointerAttributes attributes{};
    LW_TRY(check(cudaPointerGetAttributes(&attributes, memory), "asking what memory " + std::string(what) + " is"));
    const bool on_device = attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
    if (on_device && attributes.device == static_cast<int>(info_.ordinal)) return Done{};
    return make_error(LW_ERROR_ARGUMENT, std::string(what) + " is " +
                                             (on_device ? "memory of CUDA device " + std::to_string(attributes.device)
                                                        : std::string("host memory")) +
                                             ", not of " + name());
  }
  Outcome wait(void* stream) override {
    const Current current(driver_, context_);
    return check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "waiting for " + name());
  }
  Result<std::uint64_t> capture_of(void* stream) override {
    const auto asked = static_cast<cudaStream_t>(stream);
    if (asked == nullptr || asked == cudaStreamLegacy) return std::uint64_t{0};  // which can't be captured
    const Current current(driver_, context_);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
#if CUDART_VERSION >= 13000
    const cudaError_t error = cudaStreamGetCaptureInfo(asked, &status, &id, nullptr, nullptr, nullptr, nullptr);
#else
    const cudaError_t error = cudaStreamGetCaptureInfo(asked, &status, &id, nullptr, nullptr, nullptr);
#endif
    if (error != cudaSuccess) return check(error, "asking a stream of " + name() + " whether it is captured").error();
    return status == cudaStreamCaptureStatusNone ? std::uint64_t{0} : std::uint64_t{id};
  }

  [[nodiscard]] Layout preferred_layout() const override { return Layout::frag; }
  [[nodiscard]] bool has_layout(Layout layout, Format format) const override {
    return has_layout_units(layout, format);
  }
  [[nodiscard]] std::uint64_t layout_bytes(Layout layout, const MatrixView& shape) const override {
    return cuda::layout_bytes(layout, shape);
  }
  // All memory is of one piece.
  [[nodiscard]] std::uint64_t layout_unit(Layout, const MatrixView&) const override { return 0; }

  [[nodiscard]] std::span<const gpu::Tiling> tilings(const KernelDesc& kernel) const override {
    return cuda::tilings(kernel);
  }
  [[nodiscard]] std::span<const gpu::TilingAxis> tiling_axes(const KernelDesc& kernel) const override {
    return cuda::tiling_axes(kernel);
  }
  [[nodiscard]] bool takes_tiling(const KernelDesc& kernel, const gpu::Tiling& tiling) const override {
    return cuda::takes_tiling(kernel, tiling);
  }

  Outcome make_image(const ImageTask& task, void* stream) override {
    const Current current(driver_, context_);
    return started(launch_image(task, stream), "converting x");
  }
  Outcome make_floats(const ImageTask& task, std::uint32_t index, void* stream) override {
    const Current current(driver_, context_);
    return started(launch_floats(task, index, stream), "converting x for float weights");
  }
  Outcome route(const Routing& routing, bool overlapped, void* stream) override {
    const Current current(driver_, context_);
    return started(launch_route(routing, overlapped, stream), "routing tokens to experts");
  }
  Outcome launch(const KernelDesc& kernel, Format format, const Launch& what, void* stream) override {
    const Launcher launcher = kernel.launch_on_cuda(format);
    if (launcher == nullptr) {
      return make_error(LW_ERROR_UNSUPPORTED, "this build has no unit of kernel '" + std::string(kernel.name) +
                                                  "' for " + std::string(format_info(format).name));
    }
    const Current current(driver_, context_);
    return started(launcher(what, stream), "starting a product");
  }
  Outcome pack(Layout layout, const MatrixView& raw, std::uint8_t* out, void* stream) override {
    return pack_by(find_packers(layout, raw.format).pack, layout, raw, out, stream);
  }
  Outcome unpack(Layout layout, const MatrixView& packed, std::uint8_t* out, void* stream) override {
    return pack_by(find_packers(layout, packed.format).unpack, layout, packed, out, stream);
  }
  Outcome dequantize(Format format, const std::uint8_t* w, std::uint64_t elements, float* out, void* stream) override {
    const Dequantizer dequantizer = find_dequantizer(format);
    if (dequantizer == nullptr) {
      return make_error(LW_ERROR_UNSUPPORTED,
                        "this build can't decode " + std::string(format_info(format).name) + " on a CUDA device");
    }
    if (elements == 0) return Done{};
    const Current current(driver_, context_);
    return started(dequantizer(w, elements, out, stream), "decoding a matrix");
  }

 private:
  [[nodiscard]] std::string name() const { return info_.id(); }
  // No string is made of a success: products allocate nothing.
  Outcome started(int error, const char* what) const {
    if (error == cudaSuccess) return Done{};
    return check(static_cast<cudaError_t>(error), std::string(what) + " on " + name());
  }
  Outcome pack_by(Packer packer, Layout layout, const MatrixView& matrix, std::uint8_t* out, void* stream) {
    if (packer == nullptr) {
      return make_error(LW_ERROR_UNSUPPORTED, "this build can't pack " + std::string(matrix.info().name) +
                                                  " to or from layout " + std::string(layout_name(layout)) +
                                                  " on a CUDA device");
    }
    if (matrix.rows == 0) return Done{};
    const Current current(driver_, context_);
    return started(packer(matrix.data, matrix.rows, matrix.cols, out, stream), "packing a matrix");
  }

  DeviceInfo info_;
  Driver driver_{};
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  cudaStream_t stream_ = nullptr;  ///< for copy() and fill()
};

}  // namespace

std::string_view built_for() { return LANEWISE_CUDA_BUILT_FOR; }

Result<std::vector<DeviceInfo>> list_devices() {
  LW_ASSIGN(count, count_devices());
  std::vector<DeviceInfo> list;
  for (int i = 0; i < count; ++i) {
    LW_ASSIGN(info, describe(i));
    list.push_back(info);
  }
  return list;
}

Result<std::shared_ptr<Device>> open_device(std::uint32_t ordinal) {
  LW_ASSIGN(count, count_devices());
  if (ordinal >= static_cast<std::uint32_t>(count)) {
    return make_error(LW_ERROR_NOT_FOUND, "no device 'cuda:" + std::to_string(ordinal) + "': this machine has " +
                                              std::to_string(count) + " CUDA device" + (count == 1 ? "" : "s"));
  }
  LW_ASSIGN(info, describe(static_cast<int>(ordinal)));
  if (!info.why_not.empty()) {
    return make_error(LW_ERROR_UNSUPPORTED,
                      "cuda:" + std::to_string(ordinal) + " (" + info.name + ") can't be used: " + info.why_not);
  }
  auto device = std::make_shared<RuntimeDevice>(info);
  LW_TRY(device->open());
  return std::shared_ptr<Device>(std::move(device));
}

}  // namespace lanewise::cuda
