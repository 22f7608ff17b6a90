#include "library/on_cuda.h"

#include <array>
#include <utility>

namespace lanewise::edge {
namespace {

cuda::Operand operand_of(const Product& product) { return {product.matrix->view, product.y.view}; }

// Whether one launch can take both.
bool go_together(const Product& a, const Product& b) {
  return a.matrix->view.format == b.matrix->view.format && &a.kernel() == &b.kernel() &&
         a.y.view.dtype == b.y.view.dtype;
}

}  // namespace

Outcome multiply_on_cuda(const Product& product) {
  const lw_device& device = *product.device;
  const cuda::Operand operand = operand_of(product);
  return cuda::multiply(*device.cuda, product.kernel(), {&operand, 1}, *product.x->image, device.overlapped,
                        device.stream);
}

Outcome multiply_group_on_cuda(const lw_device& device, std::span<const lw_matrix* const> matrices,
                               const lw_activation& x, const lw_output* ys) {
  const auto product = [&](std::size_t i) { return product_of(device, *matrices[i], x, ys[i]); };
  std::array<cuda::Operand, cuda::most_targets> operands;
  for (std::size_t first = 0; first < matrices.size(); ++first) {
    const Product kind = product(first);
    const auto is_of_kind = [&](std::size_t i) { return go_together(kind, product(i)); };
    // All of a kind are taken with the first of them.
    bool taken = false;
    for (std::size_t i = 0; i < first && !taken; ++i) taken = is_of_kind(i);
    if (taken) continue;
    std::size_t count = 0;
    const auto flush = [&]() -> Outcome {
      return cuda::multiply(*device.cuda, kind.kernel(), std::span(operands).first(std::exchange(count, 0)), *x.image,
                            device.overlapped, device.stream);
    };
    for (std::size_t i = first; i < matrices.size(); ++i) {
      if (!is_of_kind(i)) continue;
      operands[count++] = operand_of(product(i));
      if (count == operands.size()) LW_TRY(flush());
    }
    if (count != 0) LW_TRY(flush());
  }
  return Done{};
}

Error no_parts_on_cuda(const lw_device& device) {
  return make_error(LW_ERROR_UNSUPPORTED,
                    device.name + " computes whole products: parts of one are for threads of a CPU (lw_gemv)");
}

Error no_experts_on_cuda(const lw_device& device) {
  return make_error(LW_ERROR_UNSUPPORTED, device.name + " has no kernel for experts in this build");
}

std::string explain_on_cuda(const lw_device& device, const lw_matrix& matrix, const lw_activation& x,
                            const Plan& plan) {
  const std::uint64_t slices = x.image->slices();
  return plan.name + ": " + plan.why + "; " + std::to_string(matrix.view.rows) + " rows in " + std::to_string(slices) +
         (slices == 1 ? " launch" : " launches") + " on " + device.name + ", " + device.description;
}

}  // namespace lanewise::edge
