// Products with experts: lists of matrices among which each token has some, by their ids.
#include <algorithm>
#include <span>
#include <string>

#include "base/checked.h"
#include "library/edge.h"
#include "library/experts.h"
#include "library/on_gpu.h"
#include "library/operands.h"
#include "library/parts.h"

namespace {

using namespace lanewise;  // NOLINT(google-build-using-namespace): the C interface stands outside it
using edge::ExpertProduct;
using Range = RowRange;

// All but the ids' values, which a device with memory of its own has and checks itself.
Result<ExpertProduct> check_product(const lw_device& device, std::span<const lw_matrix* const> matrices,
                                    const lw_activation& x, const std::int32_t* ids, std::uint64_t used,
                                    const lw_output& y) {
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    LW_TRY(edge::check_matrix(device, matrices[i], x));
    if (matrices[i]->view.rows != matrices[0]->view.rows) {
      return edge::argument_error("expert " + std::to_string(i) + " has " + std::to_string(matrices[i]->view.rows) +
                                  " rows, expert 0 " + std::to_string(matrices[0]->view.rows));
    }
  }
  const auto slots = checked_mul(x.tokens(), used);
  if (!slots || *slots > SIZE_MAX / sizeof(std::int32_t)) return edge::argument_error("tokens * used passes memory");
  if (*slots != 0 && ids == nullptr) return edge::argument_error("ids is a null pointer");
  for (std::uint64_t p = 0; p < *slots && device.gpu == nullptr; ++p) {
    if (ids[p] < 0 || static_cast<std::uint64_t>(ids[p]) >= matrices.size()) {
      return edge::argument_error("id " + std::to_string(p % used) + " of token " + std::to_string(p / used) + " is " +
                                  std::to_string(ids[p]) + ", of " + std::to_string(matrices.size()) + " experts");
    }
  }
  const std::uint64_t rows = matrices.empty() ? 0 : matrices[0]->view.rows;
  LW_ASSIGN(output, edge::check_output(y, rows, *slots, x));
  for (const lw_matrix* matrix : matrices) LW_TRY(edge::check_apart(output, *matrix));
  if (edge::overlap(output.bytes, edge::whole(ids, *slots * sizeof(std::int32_t)))) {
    return edge::argument_error("y overlaps the ids");
  }
  return ExpertProduct{&device, matrices, &x, {ids, *slots}, used, output};
}

// A product on the CPU, cut into parts of the rows of the experts that are among the ids.
struct Call {
  const ExpertProduct& product;
  const edge::ExpertIds& ids;
  std::uint64_t distinct;
  std::uint32_t parts;

  void run(std::uint32_t part) const {
    const std::uint64_t expert_rows = product.matrices[0]->view.rows;
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
    const lw_matrix& matrix = *product.matrices[static_cast<std::size_t>(expert)];
    const KernelDesc& kernel = *edge::kernel_of(*product.device, matrix, *product.x, product.x->tokens());
    const Range rows = whole_tiles(kernel, {begin, end}, matrix.view.rows);
    ids.for_each_batch(expert, rows.begin, rows.end, matrix.view.row_bytes(),
                       [&](std::span<const OutputSlot> batch, std::uint64_t from, std::uint64_t to) {
                         OutputView mine = product.y.view;
                         mine.slots = batch.data();
                         mine.slot_count = batch.size();
                         kernel.launch(matrix.view, *product.x->activation, mine, from, to);
                       });
  }
};

Outcome multiply(const ExpertProduct& product) {
  if (product.is_empty()) return Done{};
  const edge::ExpertIds list{product.ids, product.used, product.matrices.size()};
  Call call{product, list, list.count_distinct(), 1};
  const MatrixView& first = product.matrices[0]->view;
  const std::uint64_t all_rows = call.distinct * first.rows;  // checked: no more than y has
  // Weights times the tokens that each is multiplied by.
  const std::uint64_t work = checked_mul(first.bytes(), product.ids.size()).value_or(UINT64_MAX);
  call.parts = edge::count_parts(*product.device, all_rows, work, 1);
  product.device->run(
      call.parts, [](void* context, std::uint32_t part) { static_cast<const Call*>(context)->run(part); }, &call);
  return Done{};
}

// The lists of a call as the caller gave them: products are made of them again and again, so that nothing is kept.
struct Lists {
  const lw_device* device;
  std::uint64_t lists;
  std::uint64_t count;
  const lw_matrix* const* matrices;
  const lw_activation* x;
  const std::int32_t* ids;
  std::uint64_t used;
  const lw_output* ys;

  [[nodiscard]] Result<ExpertProduct> product(std::uint64_t list) const {
    const std::span<const lw_matrix* const> mine =
        count == 0 ? std::span<const lw_matrix* const>{} : std::span(matrices + list * count, count);
    return check_product(*device, mine, *x, ids, used, ys[list]);
  }
  [[nodiscard]] Outcome check() const {
    if (const auto all = checked_mul(lists, count); !all || *all > SIZE_MAX / sizeof(void*)) {
      return edge::argument_error("lists * count passes memory");
    }
    if (count != 0 && matrices == nullptr) return edge::argument_error("matrices is a null pointer");
    for (std::uint64_t i = 0; i < lists; ++i) {
      auto mine = product(i);
      if (!mine) {
        Error failed = std::move(mine).error();
        if (lists > 1) failed.message = "list " + std::to_string(i) + " of experts: " + failed.message;
        return failed;
      }
      for (std::uint64_t j = 0; j < i; ++j) LW_TRY(check_apart(*mine, i, *product(j), j));
    }
    return Done{};
  }

 private:
  static Outcome check_apart(const ExpertProduct& a, std::uint64_t i, const ExpertProduct& b, std::uint64_t j) {
    if (edge::overlap(a.y.bytes, b.y.bytes)) {
      return edge::argument_error("y " + std::to_string(i) + " overlaps y " + std::to_string(j));
    }
    for (const lw_matrix* matrix : a.matrices) LW_TRY(edge::check_apart(b.y, *matrix));
    for (const lw_matrix* matrix : b.matrices) LW_TRY(edge::check_apart(a.y, *matrix));
    return Done{};
  }
};

}  // namespace

lw_status lw_gemv_experts_group(lw_device* device, uint64_t lists, uint64_t count, const lw_matrix* const* matrices,
                                const lw_activation* activation, const int32_t* ids, uint64_t used, const lw_output* ys,
                                lw_error* error) {
  return edge::guarded(error, [&]() -> Outcome {
    LW_TRY(edge::check_operands(device, activation));
    if (lists == 0) return Done{};
    if (ys == nullptr) return edge::argument_error("ys is a null pointer");
    const Lists all{device, lists, count, matrices, activation, ids, used, ys};
    LW_TRY(all.check());
    for (std::uint64_t i = 0; i < lists;) {
      const ExpertProduct first = *all.product(i);
      if (device->gpu == nullptr) {
        LW_TRY(multiply(first));
        ++i;
        continue;
      }
      if (i + 1 < lists && edge::go_together(first, *all.product(i + 1))) {
        const ExpertProduct both[2] = {first, *all.product(i + 1)};
        LW_TRY(edge::multiply_experts_on_gpu(both));
        i += 2;
      } else {
        LW_TRY(edge::multiply_experts_on_gpu({&first, 1}));
        ++i;
      }
    }
    return Done{};
  });
}

lw_status lw_gemv_experts(lw_device* device, uint64_t count, const lw_matrix* const* matrices,
                          const lw_activation* activation, const int32_t* ids, uint64_t used, lw_output y,
                          lw_error* error) {
  return lw_gemv_experts_group(device, 1, count, matrices, activation, ids, used, &y, error);
}

lw_status lw_experts_check(const lw_device* device, const lw_activation* activation, lw_error* error) {
  return edge::guarded(error, [&]() -> Outcome {
    LW_TRY(edge::check_operands(device, activation));
    return device->gpu == nullptr ? Outcome(Done{}) : edge::check_ids_on_gpu(*device, *activation);
  });
}
