// y = W * x with the first weight matrix of a GGUF file, x all ones.
#include <lanewise/lanewise.hpp>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) try {
  if (argc != 2) return std::fputs("usage: gemv MODEL.gguf\n", stderr), 2;
  const lw::Model model(argv[1]);
  const lw::Device device;  // the CPU, one thread a core
  for (const lw_tensor_info& tensor : model.tensors()) {
    if (!tensor.is_weight || tensor.dim_count != 2) continue;
    const lw::Matrix w(device, model, tensor.name);
    const std::vector<float> x(w.cols(), 1.0F);
    std::vector<float> y(w.rows());
    const lw::Activation activation(device, x, w.cols());
    lw::gemv(device, w, activation, y);
    std::printf("%s (%s): y[0] = %.9g\n", tensor.name, tensor.type_name, static_cast<double>(y[0]));
    return 0;
  }
  return std::fputs("no weight matrix in this file\n", stderr), 1;
} catch (const lw::Error& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
