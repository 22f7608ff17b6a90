// Products: everything is checked first, then rows are cut into parts and given to kernels. No call allocates memory
// unless it fails.
#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string>

#include "base/checked.h"
#include "kernels/kernel.h"
#include "library/edge.h"
#include "library/experts.h"
#include "library/handles.h"
#include "library/on_cuda.h"
#include "library/operands.h"

namespace {

using namespace lanewise;  // NOLINT(google-build-using-namespace): the C interface stands outside it
using edge::Output;
using edge::Product;

// A part costs a few microseconds to hand out: it gets at least so many rows (a cache line of y) and bytes of weights,
// counted once a token.
constexpr std::uint64_t least_part_rows = 16;
constexpr std::uint64_t least_part_bytes = std::uint64_t{16} << 10;

struct Range {
  std::uint64_t begin;
  std::uint64_t end;
};

// Part `part` of `parts` of 0 .. total-1: all but equal, and without a product that could wrap.
Range range_of(std::uint64_t total, std::uint32_t part, std::uint32_t parts) {
  const std::uint64_t each = total / parts;
  const std::uint64_t larger = total % parts;
  const std::uint64_t begin = each * part + std::min<std::uint64_t>(part, larger);
  return {begin, begin + each + (part < larger ? 1 : 0)};
}

// A range moved to where the kernel's tiles end, so that no tile is computed by two parts: both ends move alike, so
// parts that met still meet.
Range whole_tiles(const KernelDesc& kernel, Range rows, std::uint64_t total) {
  const auto up = [&](std::uint64_t row) {
    return std::min(ceil_div(row, kernel.tile.rows) * kernel.tile.rows, total);
  };
  return {up(rows.begin), up(rows.end)};
}

std::uint32_t count_parts(const lw_device& device, std::uint64_t rows, std::uint64_t bytes, std::uint64_t outputs) {
  const std::uint64_t work = checked_mul(bytes, outputs).value_or(UINT64_MAX);
  const std::uint64_t worth = std::min(rows / least_part_rows, work / least_part_bytes);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(worth, 1, device.most_parts()));
}

// Rows of a product by its kernel, as they are asked for and as the library cuts them.
void launch(const Product& product, const KernelDesc& kernel, Range rows) {
  if (rows.begin == rows.end) return;
  kernel.launch(product.matrix->view, *product.x->activation, product.y.view, rows.begin, rows.end);
}
void run_tiles(const Product& product, Range rows) {
  const KernelDesc& kernel = product.kernel();
  launch(product, kernel, whole_tiles(kernel, rows, product.matrix->view.rows));
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
      run_tiles(edge::product_of(*device, *matrices[i], *x, ys[i]), here);
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
    if (device->cuda != nullptr) return edge::multiply_on_cuda(product);
    struct Call {
      const Product& product;
      std::uint32_t parts;
    };
    const MatrixView& w = matrix->view;
    Call call{product, count_parts(*device, w.rows, w.bytes(), activation->tokens())};
    const auto task = [](void* context, std::uint32_t part) {
      const Call& mine = *static_cast<const Call*>(context);
      run_tiles(mine.product, range_of(mine.product.matrix->view.rows, part, mine.parts));
    };
    device->run(call.parts, task, &call);
    return Done{};
  });
}

lw_status lw_gemv_part(lw_device* device, const lw_matrix* matrix, const lw_activation* activation, lw_output y,
                       uint32_t part, uint32_t parts, lw_error* error) {
  return edge::guarded(error, [&]() -> Outcome {
    LW_ASSIGN(product, edge::check_product(device, matrix, activation, y));
    if (device->cuda != nullptr) return edge::no_parts_on_cuda(*device);
    if (part >= parts) {
      return edge::argument_error("part " + std::to_string(part) + " of " + std::to_string(parts) + " parts");
    }
    if (!product.is_empty()) launch(product, product.kernel(), range_of(matrix->view.rows, part, parts));
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
    if (device->cuda != nullptr) return edge::multiply_group_on_cuda(*device, group.matrices, *activation, ys);
    group.parts = count_parts(*device, group.rows, bytes, activation->tokens());
    device->run(
        group.parts, [](void* context, std::uint32_t part) { static_cast<const Group*>(context)->run(part); }, &group);
    return Done{};
  });
}

lw_status lw_gemv_experts(lw_device* device, uint64_t count, const lw_matrix* const* matrices,
                          const lw_activation* activation, const int32_t* ids, uint64_t used, lw_output y,
                          lw_error* error) {
  return edge::guarded(error, [&]() -> Outcome {
    LW_TRY(edge::check_operands(device, activation));
    if (device->cuda != nullptr) return edge::no_experts_on_cuda(*device);
    const Activation* x = activation->activation.get();
    if (count != 0 && matrices == nullptr) return edge::argument_error("matrices is a null pointer");
    for (std::size_t i = 0; i < count; ++i) {
      LW_TRY(edge::check_matrix(*device, matrices[i], *activation));
      if (matrices[i]->view.rows != matrices[0]->view.rows) {
        return edge::argument_error("expert " + std::to_string(i) + " has " + std::to_string(matrices[i]->view.rows) +
                                    " rows, expert 0 " + std::to_string(matrices[0]->view.rows));
      }
    }
    const auto slots = checked_mul(x->tokens(), used);
    if (!slots || *slots > SIZE_MAX / sizeof(std::int32_t)) return edge::argument_error("tokens * used passes memory");
    if (*slots != 0 && ids == nullptr) return edge::argument_error("ids is a null pointer");
    for (std::uint64_t p = 0; p < *slots; ++p) {
      if (ids[p] < 0 || static_cast<std::uint64_t>(ids[p]) >= count) {
        return edge::argument_error("id " + std::to_string(p % used) + " of token " + std::to_string(p / used) +
                                    " is " + std::to_string(ids[p]) + ", of " + std::to_string(count) + " experts");
      }
    }
    const std::uint64_t rows = count == 0 ? 0 : matrices[0]->view.rows;
    LW_ASSIGN(output, edge::check_output(y, rows, *slots, *activation));
    for (std::size_t i = 0; i < count; ++i) LW_TRY(edge::check_apart(output, *matrices[i]));
    if (edge::overlap(output.bytes, edge::whole(ids, *slots * sizeof(std::int32_t)))) {
      return edge::argument_error("y overlaps the ids");
    }
    if (output.bytes.is_empty()) return Done{};

    const edge::ExpertIds list{{ids, *slots}, used, count};
    struct Call {
      const lw_device* device;
      const lw_matrix* const* matrices;
      const lw_activation* activation;
      const Activation* x;
      OutputView y;
      const edge::ExpertIds& ids;
      std::uint64_t distinct;
      std::uint32_t parts;

      void run(std::uint32_t part) const {
        const std::uint64_t expert_rows = matrices[0]->view.rows;
        const Range mine = range_of(distinct * expert_rows, part, parts);
        ids.for_each_distinct([&](std::uint64_t index, std::int32_t expert) {
          const std::uint64_t first = index * expert_rows;
          if (first >= mine.end) return false;
          const std::uint64_t begin = std::clamp(mine.begin, first, first + expert_rows) - first;
          const std::uint64_t end = std::min(mine.end - first, expert_rows);
          if (begin < end) run_expert(expert, begin, end);
          return true;
        });
      }
      void run_expert(std::int32_t expert, std::uint64_t begin, std::uint64_t end) const {
        const lw_matrix& matrix = *matrices[expert];
        const KernelDesc& kernel = *edge::kernel_of(*device, matrix, *activation, x->tokens());
        const Range rows_here = whole_tiles(kernel, {begin, end}, matrix.view.rows);
        ids.for_each_batch(expert, rows_here.begin, rows_here.end, matrix.view.row_bytes(),
                           [&](std::span<const OutputSlot> batch, std::uint64_t from, std::uint64_t to) {
                             OutputView mine = y;
                             mine.slots = batch.data();
                             mine.slot_count = batch.size();
                             kernel.launch(matrix.view, *x, mine, from, to);
                           });
      }
    };
    Call call{device, matrices, activation, x, output.view, list, list.count_distinct(), 1};
    const auto all_rows = checked_mul(call.distinct, rows);
    if (!all_rows) return edge::argument_error("the experts have more than 2^64 rows");
    // Weights times the tokens that each is multiplied by.
    const std::uint64_t work = checked_mul(matrices[0]->view.bytes(), *slots).value_or(UINT64_MAX);
    call.parts = count_parts(*device, *all_rows, work, 1);
    device->run(
        call.parts, [](void* context, std::uint32_t part) { static_cast<const Call*>(context)->run(part); }, &call);
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
                           device->capabilities, device->kernel));
    if (device->cuda != nullptr) {
      const std::string words = edge::explain_on_cuda(*device, *matrix, *activation, plan);
      std::snprintf(text, size, "%s", words.c_str());
      return Done{};
    }
    const std::uint32_t parts = count_parts(*device, matrix->view.rows, matrix->view.bytes(), activation->tokens());
    std::snprintf(text, size, "%s: %s; %s rows in %s over %s", plan.name.c_str(), plan.why.c_str(),
                  std::to_string(matrix->view.rows).c_str(),
                  (std::to_string(parts) + (parts == 1 ? " part" : " parts")).c_str(),
                  device->parallel_for != nullptr
                      ? "the caller's threads"
                      : (std::to_string(device->threads) + (device->threads == 1 ? " thread" : " threads")).c_str());
    return Done{};
  });
}
