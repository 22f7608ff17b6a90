#include "library/operands.h"

#include <string>

#include "library/edge.h"

namespace lanewise::edge {

Problem problem_of(const lw_matrix& matrix, const lw_activation& x, std::uint64_t outputs) {
  return {matrix.view.format, matrix.view.rows, matrix.view.cols, outputs, x.planes(), matrix.layout};
}

const KernelDesc* kernel_of(const lw_device& device, const lw_matrix& matrix, const lw_activation& x,
                            std::uint64_t outputs) {
  return find_kernel(problem_of(matrix, x, outputs), device.backend, device.capabilities, device.kernel);
}

Choice choice_of(const lw_device& device, const lw_matrix& matrix, const lw_activation& x) {
  return choose(problem_of(matrix, x, x.tokens()), device.backend, device.capabilities, device.kernel,
                device.measured());
}

Outcome check_operands(const lw_device* device, const lw_activation* activation) {
  if (!is_valid(device)) return argument_error("the device is a null pointer or no open device");
  if (!is_valid(activation)) {
    return argument_error("the activation is a null pointer or no live activation");
  }
  if (activation->device_id != device->id) return argument_error("the activation is of another device");
  if (!activation->is_set) return argument_error("the activation was never set: lw_activation_set gives it x");
  return Done{};
}

Outcome check_matrix(const lw_device& device, const lw_matrix* matrix, const lw_activation& x) {
  if (!is_valid(matrix)) return argument_error("the matrix is a null pointer or no live matrix");
  if (matrix->device_id != device.id) return argument_error("the matrix is of another device");
  if (matrix->view.cols != x.cols()) {
    return argument_error("the matrix has " + std::to_string(matrix->view.cols) + " columns, the activation " +
                          std::to_string(x.cols()));
  }
  if (kernel_of(device, *matrix, x, x.tokens()) == nullptr) {
    return select(problem_of(*matrix, x, x.tokens()), device.backend, device.capabilities, device.kernel).error();
  }
  return Done{};
}

Result<Output> check_output(const lw_output& y, std::uint64_t rows, std::uint64_t vectors,
                            const lw_activation& activation) {
  LW_ASSIGN(dtype, check_dtype(y.dtype));
  const std::uint64_t stride = y.stride == 0 ? rows : y.stride;
  if (stride < rows) {
    return argument_error("the stride of y is " + std::to_string(stride) + ", less than its " + std::to_string(rows) +
                          " rows");
  }
  Output output{{y.data, dtype, stride}, {}};
  if (rows == 0 || vectors == 0) return output;
  LW_ASSIGN(bytes, bytes_of({y.data, rows, stride, vectors, dtype, "y"}));
  output.bytes = bytes;
  if (overlap(bytes, whole(activation.workspace, activation.workspace_bytes))) {
    return argument_error("y overlaps the activation's workspace");
  }
  return output;
}

Outcome check_apart(const Output& y, const lw_matrix& matrix) {
  if (overlap(y.bytes, whole(matrix.view.data, matrix.held_bytes))) {
    return argument_error("y overlaps the weights");
  }
  return Done{};
}

Outcome check_outputs_apart(std::span<const lw_matrix* const> matrices, const lw_output* ys, const lw_activation& x) {
  // The same conversion twice rather than an array of results: it has passed before, so it has no errors here.
  const auto bytes = [&](std::size_t i) {
    const std::uint64_t rows = matrices[i]->view.rows;
    const std::uint64_t stride = ys[i].stride == 0 ? rows : ys[i].stride;
    if (rows == 0 || x.tokens() == 0) return ByteVectors{};
    return *bytes_of({ys[i].data, rows, stride, x.tokens(), static_cast<Dtype>(ys[i].dtype), "y"});
  };
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const ByteVectors mine = bytes(i);
    for (std::size_t j = 0; j < matrices.size(); ++j) {
      if (j < i && overlap(mine, bytes(j))) {
        return argument_error("y " + std::to_string(i) + " overlaps y " + std::to_string(j));
      }
      if (j != i && overlap(mine, whole(matrices[j]->view.data, matrices[j]->held_bytes))) {
        return argument_error("y " + std::to_string(i) + " overlaps the weights of matrix " + std::to_string(j));
      }
    }
  }
  return Done{};
}

Result<Product> check_product(const lw_device* device, const lw_matrix* matrix, const lw_activation* activation,
                              const lw_output& y) {
  LW_TRY(check_operands(device, activation));
  LW_TRY(check_matrix(*device, matrix, *activation));
  LW_ASSIGN(output, check_output(y, matrix->view.rows, activation->tokens(), *activation));
  LW_TRY(check_apart(output, *matrix));
  return Product{device, matrix, activation, output};
}

Product product_of(const lw_device& device, const lw_matrix& matrix, const lw_activation& x, const lw_output& y) {
  const std::uint64_t stride = y.stride == 0 ? matrix.view.rows : y.stride;
  return {&device, &matrix, &x, {{y.data, static_cast<Dtype>(y.dtype), stride}, {}}};
}

}  // namespace lanewise::edge
