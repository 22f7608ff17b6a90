#include "harness/together.h"

#include <utility>

namespace lanewise {

Result<Together> Together::create(const Case& problem, std::uint64_t tokens, std::uint64_t gap) {
  Together made(problem);
  if (problem.experts != 0) made.ids_ = expert_ids(problem, tokens);
  for (const std::uint64_t all : rows_of_lists(problem)) {
    const std::uint64_t rows = problem.experts == 0 ? all : all / problem.experts;
    const std::uint64_t count = problem.experts == 0 ? tokens : tokens * experts_used;
    const std::uint64_t elements = count * (rows + gap);
    LW_ASSIGN(memory, Fenced::create(elements * dtype_bytes(problem.output), Fence::canary));
    made.vectors_.push_back({{memory.data(), problem.output, rows + gap}, rows, count});
    poison(made.vectors_.back().y, elements);
    made.memory_.push_back(std::move(memory));
  }
  return made;
}

void Together::compare(const std::vector<float>& reference, BitCount& count, std::uint64_t& unwritten) const {
  std::uint64_t first_row = 0;
  for (const Vectors& list : vectors_) {
    for (std::uint64_t i = 0; i < list.count; ++i) {
      const std::uint64_t token = problem_.experts == 0 ? i : i / experts_used;
      const std::uint64_t expert = problem_.experts == 0 ? 0 : static_cast<std::uint64_t>(ids_[i]);
      const std::uint64_t row = first_row + expert * list.rows;
      OutputView got = list.y;
      got.data = static_cast<std::uint8_t*>(got.data) + i * got.stride * dtype_bytes(got.dtype);
      // The view is only read.
      const OutputView expected{const_cast<float*>(reference.data()) + token * problem_.rows + row, Dtype::f32,
                                problem_.rows};
      BitCount part;
      compare_outputs(got, expected, 1, 0, list.rows, part, unwritten);
      if (part.first) {
        part.first->row += row;
        part.first->token = token;
      }
      add(count, part);
    }
    first_row += problem_.experts == 0 ? list.rows : list.rows * problem_.experts;
  }
}

std::uint64_t Together::damaged() const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < vectors_.size(); ++i) {
    const Vectors& list = vectors_[i];
    count += memory_[i].damaged() + damaged_gaps(list.y, list.count, list.rows) * dtype_bytes(list.y.dtype);
  }
  return count;
}

}  // namespace lanewise
