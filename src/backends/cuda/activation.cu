#include "backends/cuda/activation.cuh"

#include "backends/cuda/start.cuh"

namespace lanewise::cuda {

int launch_image(const ImageTask& task, void* stream) {
  const dim3 grid(static_cast<unsigned>(image_grid(task)));
  auto* const kernel = task.planes == 1 ? image_kernel<1> : task.planes == 2 ? image_kernel<2> : image_kernel<3>;
  return start(kernel, grid, image_threads, sizeof(std::uint32_t), task.overlapped, stream, task);
}

int launch_floats(const ImageTask& task, std::uint32_t index, void* stream) {
  const dim3 grid(static_cast<unsigned>(floats_grid(task)));
  return start(floats_kernel, grid, image_threads, 0, task.overlapped, stream, task, index);
}

int find_code() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, floats_kernel);
}

}  // namespace lanewise::cuda
