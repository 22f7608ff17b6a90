// Graphs and events of the CUDA runtime. It works in the device's primary context, as device.cpp does.
#include "backends/gpu/timer.h"

#include <cuda_runtime_api.h>

#include <string>
#include <utility>

#include "backends/cuda/cuda.h"
#include "backends/cuda/read.h"

namespace lanewise::cuda {
namespace {

using gpu::Chain;
using gpu::Device;
using gpu::Memory;
using gpu::Timer;

Outcome check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return Done{};
  (void)cudaGetLastError();
  return make_error(error == cudaErrorMemoryAllocation ? LW_ERROR_MEMORY : LW_ERROR_DEVICE,
                    std::string(what) + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")");
}

// The device is the runtime's current one while it lives.
class Current {
 public:
  explicit Current(std::uint32_t ordinal) {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = 0;
    (void)cudaSetDevice(static_cast<int>(ordinal));  // a failure shows in the call that follows
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current() { (void)cudaSetDevice(before_); }

 private:
  int before_ = 0;
};

struct Clock {
  std::uint32_t ordinal = 0;
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
};

class GraphChain final : public Chain {
 public:
  GraphChain(const Clock& clock, cudaGraphExec_t graph) : clock_(clock), graph_(graph) {}
  GraphChain(const GraphChain&) = delete;
  GraphChain& operator=(const GraphChain&) = delete;
  ~GraphChain() override {
    const Current current(clock_.ordinal);
    (void)cudaGraphExecDestroy(graph_);
  }

  Result<double> replay() override {
    const Current current(clock_.ordinal);
    LW_TRY(check(cudaEventRecord(clock_.begin, clock_.stream), "starting the clock"));
    LW_TRY(check(cudaGraphLaunch(graph_, clock_.stream), "running a chain of launches"));
    LW_TRY(check(cudaEventRecord(clock_.end, clock_.stream), "stopping the clock"));
    LW_TRY(check(cudaEventSynchronize(clock_.end), "waiting for a chain of launches"));
    float milliseconds = 0;
    LW_TRY(check(cudaEventElapsedTime(&milliseconds, clock_.begin, clock_.end), "reading the clock"));
    return 1e3 * static_cast<double>(milliseconds);
  }

 private:
  Clock clock_;
  cudaGraphExec_t graph_;
};

class RuntimeTimer final : public Timer {
 public:
  explicit RuntimeTimer(const std::shared_ptr<Device>& device) : device_(device) {
    clock_.ordinal = device->info().ordinal;
  }
  RuntimeTimer(const RuntimeTimer&) = delete;
  RuntimeTimer& operator=(const RuntimeTimer&) = delete;
  ~RuntimeTimer() override {
    const Current current(clock_.ordinal);
    if (clock_.end != nullptr) (void)cudaEventDestroy(clock_.end);
    if (clock_.begin != nullptr) (void)cudaEventDestroy(clock_.begin);
    if (clock_.stream != nullptr) (void)cudaStreamDestroy(clock_.stream);
  }

  Outcome open() {
    const Current current(clock_.ordinal);
    int cache = 0;
    LW_TRY(check(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, static_cast<int>(clock_.ordinal)),
                 "asking for the size of the cache"));
    cache_ = static_cast<std::uint64_t>(cache);
    LW_TRY(check(cudaStreamCreateWithFlags(&clock_.stream, cudaStreamNonBlocking), "making a stream"));
    LW_TRY(check(cudaEventCreate(&clock_.begin), "making an event"));
    LW_TRY(check(cudaEventCreate(&clock_.end), "making an event"));
    LW_ASSIGN(sink, Memory::allocate(device_, sizeof(std::uint32_t)));
    sink_ = std::move(sink);
    return Done{};
  }

  [[nodiscard]] std::uint64_t cache_bytes() const override { return cache_; }

  Result<std::unique_ptr<Chain>> record(const std::function<Outcome(void* stream)>& enqueue) override {
    const Current current(clock_.ordinal);
    LW_TRY(check(cudaStreamBeginCapture(clock_.stream, cudaStreamCaptureModeThreadLocal), "beginning to record"));
    Outcome enqueued = enqueue(clock_.stream);
    cudaGraph_t graph = nullptr;
    Outcome ended = check(cudaStreamEndCapture(clock_.stream, &graph), "recording a chain of launches");
    if (!enqueued || !ended) {
      if (graph != nullptr) (void)cudaGraphDestroy(graph);
      return (enqueued ? std::move(ended) : std::move(enqueued)).error();
    }
    cudaGraphExec_t ready = nullptr;
    Outcome made = check(cudaGraphInstantiate(&ready, graph, 0), "preparing a chain of launches");
    (void)cudaGraphDestroy(graph);
    if (!made) return std::move(made).error();
    auto chain = std::make_unique<GraphChain>(clock_, ready);
    LW_TRY(check(cudaGraphUpload(ready, clock_.stream), "bringing a chain of launches to the device"));
    return std::unique_ptr<Chain>(std::move(chain));
  }

  Outcome read(const std::uint8_t* from, std::uint64_t bytes, ReadShape shape, bool overlapped, void* stream) override {
    const Current current(clock_.ordinal);
    const int error = launch_read(from, bytes, shape, device_->info().multiprocessors, overlapped,
                                  reinterpret_cast<std::uint32_t*>(sink_.data()), stream);
    return check(static_cast<cudaError_t>(error), "starting the reading kernel");
  }

 private:
  std::shared_ptr<Device> device_;
  Clock clock_;
  Memory sink_;
  std::uint64_t cache_ = 0;
};

}  // namespace

Result<std::unique_ptr<Timer>> make_timer(const std::shared_ptr<Device>& device) {
  auto timer = std::make_unique<RuntimeTimer>(device);
  LW_TRY(timer->open());
  return std::unique_ptr<Timer>(std::move(timer));
}

}  // namespace lanewise::cuda
