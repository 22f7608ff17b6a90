#include "library/on_gpu.h"

#include <array>
#include <string>
#include <utility>

#include "library/edge.h"

namespace lanewise::edge {
namespace {

gpu::Operand operand_of(const Product& product) { return {product.matrix->view, product.y.view}; }

// Whether one launch can take both.
bool go_together(const Product& a, const Product& b) {
  return a.matrix->view.format == b.matrix->view.format && &a.kernel() == &b.kernel() &&
         a.y.view.dtype == b.y.view.dtype;
}

}  // namespace

Outcome multiply_on_gpu(const Product& product) {
  const lw_device& device = *product.device;
  const gpu::Operand operand = operand_of(product);
  const Choice by = product.choice();
  return gpu::multiply(*device.gpu, *by.kernel, {&operand, 1}, *product.x->image,
                       {device.overlapped, by.setting().tiling}, device.stream);
}

Outcome multiply_group_on_gpu(const lw_device& device, std::span<const lw_matrix* const> matrices,
                              const lw_activation& x, const lw_output* ys) {
  const auto product = [&](std::size_t i) { return product_of(device, *matrices[i], x, ys[i]); };
  std::array<gpu::Operand, gpu::most_targets> operands;
  for (std::size_t first = 0; first < matrices.size(); ++first) {
    const Product kind = product(first);
    const auto is_of_kind = [&](std::size_t i) { return go_together(kind, product(i)); };
    // All of a kind are taken with the first of them.
    bool taken = false;
    for (std::size_t i = 0; i < first && !taken; ++i) taken = is_of_kind(i);
    if (taken) continue;
    std::size_t count = 0;
    const auto flush = [&]() -> Outcome {
      return gpu::multiply(*device.gpu, kind.kernel(), std::span(operands).first(std::exchange(count, 0)), *x.image,
                           {device.overlapped}, device.stream);
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

Error no_parts_on_gpu(const lw_device& device) {
  return make_error(LW_ERROR_UNSUPPORTED,
                    device.name + " computes whole products: parts of one are for threads of a CPU (lw_gemv)");
}

bool go_together(const ExpertProduct& a, const ExpertProduct& b) {
  if (a.is_empty() || b.is_empty() || a.y.view.dtype != b.y.view.dtype) return false;
  const lw_matrix& first = *a.matrices[0];
  const lw_matrix& second = *b.matrices[0];
  return first.view.format == second.view.format &&
         kernel_of(*a.device, first, *a.x, a.x->tokens()) == kernel_of(*b.device, second, *b.x, b.x->tokens());
}

Outcome multiply_experts_on_gpu(std::span<const ExpertProduct> products) {
  const ExpertProduct& first = products.front();
  if (first.is_empty()) return Done{};
  const lw_device& device = *first.device;
  if (first.matrices.size() > gpu::most_experts) {
    return make_error(LW_ERROR_UNSUPPORTED, std::to_string(first.matrices.size()) + " experts, more than the " +
                                                std::to_string(gpu::most_experts) + " that " + device.name + " takes");
  }
  const MatrixView& kind = first.matrices[0]->view;
  const KernelDesc& kernel = *kernel_of(device, *first.matrices[0], *first.x, first.x->tokens());
  gpu::Routing routing{};
  routing.targets = static_cast<std::uint32_t>(products.size());
  routing.experts = static_cast<std::uint32_t>(first.matrices.size());
  routing.ids = first.ids.data();
  routing.tokens = first.x->tokens();
  if (first.used > UINT32_MAX) return argument_error("more than 2^32 ids a token");
  routing.used = static_cast<std::uint32_t>(first.used);
  std::array<gpu::Operand, gpu::most_expert_targets> operands;
  for (std::size_t t = 0; t < products.size(); ++t) {
    const ExpertProduct& product = products[t];
    for (std::size_t i = 0; i < product.matrices.size(); ++i) {
      const lw_matrix& matrix = *product.matrices[i];
      if (matrix.view.format != kind.format || matrix.layout != first.matrices[0]->layout) {
        return make_error(LW_ERROR_UNSUPPORTED, "expert " + std::to_string(i) +
                                                    " is of another format than expert 0: " + device.name +
                                                    " takes experts of one");
      }
      routing.w[t][i] = matrix.view.data;
    }
    operands[t] = {product.matrices[0]->view, product.y.view};
  }
  return gpu::multiply_experts(*device.gpu, kernel, std::span(operands).first(products.size()), routing,
                               *first.x->image, {device.overlapped}, device.stream);
}

Outcome check_ids_on_gpu(const lw_device& device, const lw_activation& x) {
  LW_TRY(device.gpu->wait(device.stream));
  LW_ASSIGN(bad, x.image->has_bad_ids());
  if (!bad) return Done{};
  return argument_error(
      "an id of the last product with experts of this activation is that of no expert: nothing of it "
      "was computed");
}

std::string explain_on_gpu(const lw_device& device, const lw_matrix& matrix, const lw_activation& x, const Plan& plan) {
  const std::uint64_t slices = x.image->slices();
  std::string kernel = plan.name + ": " + plan.why;
  if (slices != 0) {
    gpu::Launch what = gpu::launch_of(*device.gpu, *x.image, Dtype::f32, {});
    what.tokens = x.image->slice_tokens(0);
    what.targets[what.count++].rows = matrix.view.rows;
    const auto found = device.gpu->stands_in(*plan.kernel, matrix.view.format, what);
    if (!found) {
      kernel += "; it can't run: " + found.error().message;
    } else if (*found != plan.kernel) {
      kernel = kernel_name(**found, matrix.view.info(), x.image->planes()) + ": in place of '" +
               std::string(plan.kernel->name) + "', which gives wrong bits on this device";
    }
  }
  return kernel + "; " + std::to_string(matrix.view.rows) + " rows in " + std::to_string(slices) +
         (slices == 1 ? " launch" : " launches") + " on " + device.name + ", " + device.description;
}

}  // namespace lanewise::edge
