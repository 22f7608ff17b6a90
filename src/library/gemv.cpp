// Products: everything is checked first, then rows are cut into parts and given to kernels. No call allocates memory
// unless it fails.
#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string>

#include "backends/cpu/cpu.h"
#include "base/checked.h"
#include "kernels/kernel.h"
#include "library/edge.h"
#include "library/handles.h"
#include "library/on_gpu.h"
#include "library/operands.h"
#include "library/parts.h"

namespace {

using namespace lanewise;  // NOLINT(google-build-using-namespace): the C interface stands outside it
using edge::count_parts;
using edge::Product;
using Range = RowRange;

// Rows of a product by its kernel, as they are asked for and as the library cuts them.
void launch(const Product& product, const Choice& by, Range rows) {
  if (rows.begin == rows.end) return;
  cpu_launch(*by.kernel, by.setting().ahead, product.matrix->view, *product.x->activation, product.y.view, rows.begin,
             rows.end);
}
void run_tiles(const Product& product, const Choice& by, Range rows) {
  launch(product, by, whole_tiles(*by.kernel, rows, product.matrix->view.rows));
}

// The rows of several matrices, one after another, as one range of work. Products are put together from the caller's
// arrays in each part: nothing is kept, so nothing is allocated.
struct Group {
  const lw_device* device;
  std::span<const lw_matrix* const> matrices;
  const lw_activation* x;
  const lw_output* ys;
  std::uint64_t rows;
  std::uint32_t parts;

  void run(std::uint32_t part) const {
    const Range mine = range_of(rows, part, parts);
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < matrices.size() && first < mine.end; ++i) {
      const std::uint64_t count = matrices[i]->view.rows;
      const Range here{std::clamp(mine.begin, first, first + count) - first,
                       std::clamp(mine.end, first, first + count) - first};
      const Product product = edge::product_of(*device, *matrices[i], *x, ys[i]);
      run_tiles(product, {&product.kernel(), nullptr}, here);
      first += count;
    }
  }
};

}  // namespace

lw_status lw_gemv(lw_device* device, const lw_matrix* matrix, const lw_activation* activation, lw_output y,
                  lw_error* error) {
  return edge::guarded(error, [&]() -> Outcome {
    LW_ASSIGN(product, edge::check_product(device, matrix, activation, y));
    if (product.is_empty()) return Done{};
    if (device->gpu != nullptr) return edge::multiply_on_gpu(product);
    struct Call {
      const Product& product;
      const Choice by;
      std::uint32_t parts;
    };
    const Choice by = product.choice();
    Call call{product, by, count_parts(*device, matrix->view, activation->tokens(), by.setting())};
    const auto task = [](void* context, std::uint32_t part) {
      const Call& mine = *static_cast<const Call*>(context);
      run_tiles(mine.product, mine.by, range_of(mine.product.matrix->view.rows, part, mine.parts));
    };
    device->run(call.parts, task, &call);
    return Done{};
  });
}

lw_status lw_gemv_part(lw_device* device, const lw_matrix* matrix, const lw_activation* activation, lw_output y,
                       uint32_t part, uint32_t parts, lw_error* error) {
  return edge::guarded(error, [&]() -> Outcome {
    LW_ASSIGN(product, edge::check_product(device, matrix, activation, y));
    if (device->gpu != nullptr) return edge::no_parts_on_gpu(*device);
    if (part >= parts) {
      return edge::argument_error("part " + std::to_string(part) + " of " + std::to_string(parts) + " parts");
    }
    if (!product.is_empty()) launch(product, product.choice(), range_of(matrix->view.rows, part, parts));
    return Done{};
  });
}

lw_status lw_gemv_group(lw_device* device, uint64_t count, const lw_matrix* const* matrices,
                        const lw_activation* activation, const lw_output* ys, lw_error* error) {
  return edge::guarded(error, [&]() -> Outcome {
    LW_TRY(edge::check_operands(device, activation));
    if (count != 0 && (matrices == nullptr || ys == nullptr)) {
      return edge::argument_error("matrices or ys is a null pointer");
    }
    Group group{device, {matrices, count}, activation, ys, 0, 1};
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      auto product = edge::check_product(device, matrices[i], activation, ys[i]);
      if (!product) {
        Error failed = std::move(product).error();
        failed.message = "matrix " + std::to_string(i) + " of the group: " + failed.message;
        return failed;
      }
      const auto rows = checked_add(group.rows, matrices[i]->view.rows);
      if (!rows) return edge::argument_error("the group has more than 2^64 rows");
      group.rows = *rows;
      bytes = checked_add(bytes, matrices[i]->view.bytes()).value_or(UINT64_MAX);
    }
    LW_TRY(edge::check_outputs_apart(group.matrices, ys, *activation));
    if (group.rows == 0 || activation->tokens() == 0) return Done{};
    if (device->gpu != nullptr) return edge::multiply_group_on_gpu(*device, group.matrices, *activation, ys);
    group.parts = count_parts(*device, group.rows, bytes, activation->tokens());
    device->run(
        group.parts, [](void* context, std::uint32_t part) { static_cast<const Group*>(context)->run(part); }, &group);
    return Done{};
  });
}

lw_status lw_gemv_explain(lw_device* device, const lw_matrix* matrix, const lw_activation* activation, char* text,
                          size_t size, lw_error* error) {
  return edge::guarded(error, [&]() -> Outcome {
    LW_TRY(edge::check_operands(device, activation));
    LW_TRY(edge::check_matrix(*device, matrix, *activation));
    if (text == nullptr || size == 0) return edge::argument_error("text is a null pointer or has no room");
    LW_ASSIGN(plan, select(edge::problem_of(*matrix, *activation, activation->tokens()), device->backend,
                           device->capabilities, device->kernel, device->measured()));
    if (device->gpu != nullptr) {
      const std::string words = edge::explain_on_gpu(*device, *matrix, *activation, plan);
      std::snprintf(text, size, "%s", words.c_str());
      return Done{};
    }
    const std::uint32_t parts = count_parts(*device, matrix->view, activation->tokens(), plan.setting);
    std::snprintf(text, size, "%s: %s; %s rows in %s over %s", plan.name.c_str(), plan.why.c_str(),
                  std::to_string(matrix->view.rows).c_str(),
                  (std::to_string(parts) + (parts == 1 ? " part" : " parts")).c_str(),
                  device->parallel_for != nullptr
                      ? "the caller's threads"
                      : (std::to_string(device->threads) + (device->threads == 1 ? " thread" : " threads")).c_str());
    return Done{};
  });
}
