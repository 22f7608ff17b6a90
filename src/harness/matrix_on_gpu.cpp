#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "arithmetic/scalar.h"
#include "harness/compare.h"
#include "harness/fill.h"
#include "harness/on_gpu.h"

namespace lanewise {
namespace {

// Between tokens of a y whose W has its halves apart: the third of them starts past 2^31.
constexpr std::uint64_t wide_gap = std::uint64_t{1} << 30;
constexpr std::uint64_t copied_at_once = std::uint64_t{64} << 20;

}  // namespace

std::vector<std::uint64_t> rows_of_lists(const Case& problem) {
  return problem.group.empty() ? std::vector{problem.rows} : problem.group;
}

std::vector<std::int32_t> expert_ids(const Case& problem, std::uint64_t tokens) {
  std::vector<std::int32_t> ids(tokens * experts_used);
  Random random(problem.seed, problem.experts);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<std::int32_t>(random.below(problem.experts));
    if (i % (std::size_t{2} * experts_used) == 1) ids[i] = ids[i - 1];
  }
  return ids;
}

Result<std::unique_ptr<MatrixOnGpu>> MatrixOnGpu::load(const std::shared_ptr<gpu::Device>& device, const MatrixView& w,
                                                       const Case& problem) {
  if (!device->has_layout(problem.layout, w.format)) {
    return make_error(LW_ERROR_UNSUPPORTED, "this build can't put " + std::string(w.info().name) + " into layout " +
                                                std::string(layout_name(problem.layout)));
  }
  std::unique_ptr<MatrixOnGpu> matrix(new MatrixOnGpu(device, w, problem));
  std::uint64_t row = 0;
  for (const std::uint64_t rows : rows_of_lists(problem)) {
    const std::uint64_t count = std::max(problem.experts, 1U);
    for (std::uint64_t i = 0; i < count; ++i) {
      Part& part = matrix->parts_.emplace_back();
      part.w = {w.format, rows / count, w.cols, w.row(row)};
      part.first_row = row;
      row += part.w.rows;
    }
  }
  for (Part& part : matrix->parts_) LW_TRY(matrix->load_part(part));
  LW_ASSIGN(unchanged, matrix->is_unchanged());
  if (!unchanged) {
    return make_error(LW_ERROR_INTERNAL, "layout " + std::string(layout_name(problem.layout)) +
                                             " doesn't give the bytes of " + std::string(w.info().name) + ", " +
                                             std::to_string(w.cols) + " x " + std::to_string(w.rows) + ", back");
  }
  return matrix;
}

bool MatrixOnGpu::suits(const Case& problem) const {
  return problem.layout == problem_.layout && problem.group == problem_.group && problem.experts == problem_.experts &&
         problem.apart == problem_.apart;
}

MatrixView MatrixOnGpu::there(const Part& part) const {
  MatrixView view = part.w;
  view.rows += problem_.apart;
  view.data = problem_.layout == Layout::raw ? part.raw.data() : part.packed.data();
  return view;
}

Outcome MatrixOnGpu::load_part(Part& part) {
  MatrixView raw_there = part.w;
  raw_there.rows += problem_.apart;
  LW_ASSIGN(raw, FencedOnGpu::create(device_, raw_there.bytes()));
  part.raw = std::move(raw);
  raw_there.data = part.raw.data();
  if (problem_.apart == 0) {
    LW_TRY(device_->copy(part.raw.data(), part.w.data, part.w.bytes()));
  } else {
    const std::uint64_t first = half() * w_.row_bytes();
    const std::uint64_t zeros = problem_.apart * w_.row_bytes();
    LW_TRY(device_->copy(part.raw.data(), w_.data, first));
    LW_TRY(device_->fill(part.raw.data() + first, 0, zeros));
    LW_TRY(device_->copy(part.raw.data() + first + zeros, w_.data + first, w_.bytes() - first));
  }
  if (problem_.layout == Layout::raw) return Done{};
  LW_ASSIGN(packed, FencedOnGpu::create(device_, device_->layout_bytes(problem_.layout, raw_there)));
  part.packed = std::move(packed);
  LW_TRY(device_->fill(part.packed.data(), unmade, part.packed.size()));
  if (part.w.rows == 0) return Done{};
  LW_TRY(device_->pack(problem_.layout, raw_there, part.packed.data(), nullptr));
  return device_->wait(nullptr);
}

Result<bool> MatrixOnGpu::is_unchanged() {
  for (const Part& part : parts_) {
    LW_ASSIGN(unchanged, problem_.apart == 0 ? is_unchanged(part) : halves_are_unchanged(part));
    if (!unchanged) return false;
  }
  return true;
}

Result<bool> MatrixOnGpu::is_unchanged(const Part& part) {
  if (part.w.rows == 0) return true;
  std::vector<std::uint8_t> bytes(part.w.bytes());
  LW_TRY(gpu::store_matrix(device_, there(part), problem_.layout, bytes.data()));
  return std::memcmp(bytes.data(), part.w.data, bytes.size()) == 0;
}

Result<bool> MatrixOnGpu::halves_are_unchanged(const Part& part) {
  const MatrixView view = there(part);
  const std::uint8_t* from = view.data;
  gpu::Memory unpacked;
  if (problem_.layout != Layout::raw) {
    LW_ASSIGN(room, gpu::Memory::allocate(device_, view.bytes()));
    unpacked = std::move(room);
    LW_TRY(device_->fill(unpacked.data(), unmade, view.bytes()));
    LW_TRY(device_->unpack(problem_.layout, view, unpacked.data(), nullptr));
    LW_TRY(device_->wait(nullptr));
    from = unpacked.data();
  }
  const std::uint64_t first = half() * w_.row_bytes();
  const std::uint64_t second = first + problem_.apart * w_.row_bytes();
  std::vector<std::uint8_t> bytes;
  const auto is = [&](std::uint64_t at, const std::uint8_t* expected, std::uint64_t count) -> Result<bool> {
    bytes.resize(count);
    LW_TRY(device_->copy(bytes.data(), from + at, count));
    if (expected != nullptr) return std::memcmp(bytes.data(), expected, count) == 0;
    return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
  };
  LW_ASSIGN(front, is(0, w_.data, first));
  LW_ASSIGN(back, is(second, w_.data + first, w_.bytes() - first));
  bool same = front && back;
  for (std::uint64_t at = first; at < second && same; at += copied_at_once) {
    LW_ASSIGN(zeros, is(at, nullptr, std::min(copied_at_once, second - at)));
    same = zeros;
  }
  return same;
}

Outcome MatrixOnGpu::dequantize(std::uint64_t row_begin, std::uint64_t row_end, float* out) {
  const std::lock_guard lock(decoding_);
  for (const Part& part : parts_) {
    // Where the halves lie apart, the second as if it were a part of its own.
    const std::uint64_t middle = problem_.apart == 0 ? part.w.rows : half();
    for (const bool second : {false, true}) {
      const std::uint64_t begin = std::max(row_begin, part.first_row + (second ? middle : 0));
      const std::uint64_t end = std::min(row_end, part.first_row + (second ? part.w.rows : middle));
      if (begin >= end) continue;
      const std::uint64_t elements = (end - begin) * w_.cols;
      const std::uint64_t bytes = elements * sizeof(float);
      if (decoded_.bytes() < bytes) {
        LW_ASSIGN(room, gpu::Memory::allocate(device_, bytes));
        decoded_ = std::move(room);
      }
      auto* const weights = reinterpret_cast<float*>(decoded_.data());
      const std::uint64_t row = begin - part.first_row + (second ? problem_.apart : 0);
      LW_TRY(device_->fill(weights, unmade, bytes));
      LW_TRY(device_->dequantize(w_.format, part.raw.data() + row * w_.row_bytes(), elements, weights, nullptr));
      LW_TRY(device_->wait(nullptr));
      LW_TRY(device_->copy(out + (begin - row_begin) * w_.cols, weights, bytes));
    }
  }
  return Done{};
}

Result<MatrixOnGpu::Outputs> MatrixOnGpu::make_outputs(const Vectors& like) const {
  Outputs made;
  const std::uint64_t size = dtype_bytes(like.y.dtype);
  made.stride = like.y.stride + (problem_.apart == 0 ? 0 : problem_.apart + wide_gap);
  const std::uint64_t elements =
      problem_.apart == 0 ? like.count * made.stride : (like.count - 1) * made.stride + problem_.apart + like.y.stride;
  LW_ASSIGN(memory, FencedOnGpu::create(device_, elements * size));
  made.memory = std::move(memory);
  if (problem_.apart != 0) LW_TRY(device_->fill(made.memory.data(), 0xFF, elements * size));
  LW_TRY(copy_outputs(like, made, true));
  return made;
}

Outcome MatrixOnGpu::copy_outputs(const Vectors& host, const Outputs& device, bool to_device) const {
  const std::uint64_t size = dtype_bytes(host.y.dtype);
  auto* const here = static_cast<std::uint8_t*>(host.y.data);
  const auto copy = [&](std::uint64_t at_host, std::uint64_t at_device, std::uint64_t elements) {
    std::uint8_t* const a = here + at_host * size;
    std::uint8_t* const b = device.memory.data() + at_device * size;
    return to_device ? device_->copy(b, a, elements * size) : device_->copy(a, b, elements * size);
  };
  if (problem_.apart == 0) return copy(0, 0, host.count * host.y.stride);
  for (std::uint64_t i = 0; i < host.count; ++i) {
    LW_TRY(copy(i * host.y.stride, i * device.stride, half()));
    LW_TRY(copy(i * host.y.stride + half(), i * device.stride + half() + problem_.apart, host.y.stride - half()));
  }
  return Done{};
}

Outcome MatrixOnGpu::compare_between(const Vectors& host, const Outputs& device, const InputOnGpu& x,
                                     BitCount& count) const {
  const std::uint64_t size = dtype_bytes(host.y.dtype);
  const std::vector<std::uint8_t> row(w_.row_bytes());
  std::vector<std::uint8_t> y(host.count * size);
  const OutputView expected{y.data(), host.y.dtype, 1};
  gemv_scalar({w_.format, 1, w_.cols, row.data()}, x.activation(), expected, 0, 1);
  std::vector<std::uint8_t> got(problem_.apart * size);
  for (std::uint64_t i = 0; i < host.count; ++i) {
    LW_TRY(device_->copy(got.data(), device.memory.data() + (i * device.stride + half()) * size, got.size()));
    const OutputView vector{got.data(), host.y.dtype, problem_.apart};
    for (std::uint64_t r = 0; r < problem_.apart; ++r) {
      Difference pair;
      pair.row = half() + r;
      pair.token = i;
      pair.got = output_bits(vector, 0, r);
      pair.expected = output_bits(expected, i, 0);
      note_bits(count, pair);
    }
  }
  return Done{};
}

Outcome MatrixOnGpu::enqueue(const KernelDesc& kernel, const gpu::LaunchStyle& style, const InputOnGpu& x,
                             std::span<const Vectors> like, std::span<const Outputs> ys,
                             const std::int32_t* ids) const {
  const std::size_t each = std::max(problem_.experts, 1U);
  std::vector<gpu::Operand> operands(ys.size());
  gpu::Routing routing{};
  for (std::size_t list = 0; list < ys.size(); ++list) {
    operands[list].w = there(parts_[list * each]);
    operands[list].y = {ys[list].memory.data(), like[list].y.dtype, ys[list].stride};
    for (std::size_t e = 0; e < problem_.experts; ++e) routing.w[list][e] = there(parts_[list * each + e]).data;
  }
  if (problem_.experts == 0) return gpu::multiply(*device_, kernel, operands, x.image(), style, nullptr);
  routing.targets = static_cast<std::uint32_t>(ys.size());
  routing.experts = problem_.experts;
  routing.ids = ids;
  routing.tokens = x.tokens();
  routing.used = experts_used;
  return gpu::multiply_experts(*device_, kernel, operands, routing, x.image(), style, nullptr);
}

Result<MatrixOnGpu::Findings> MatrixOnGpu::multiply(const KernelDesc& kernel, const gpu::LaunchStyle& style,
                                                    InputOnGpu& x, std::span<const Vectors> ys) {
  gpu::Memory ids;
  if (problem_.experts != 0) {
    const std::vector<std::int32_t> wanted = expert_ids(problem_, x.tokens());
    LW_ASSIGN(room, gpu::Memory::allocate(device_, wanted.size() * sizeof(std::int32_t)));
    ids = std::move(room);
    LW_TRY(device_->copy(ids.data(), wanted.data(), ids.bytes()));
  }
  // Of overlapped launches: the product, one of zeros, the product again.
  std::vector<std::vector<Outputs>> runs(style.overlapped ? 3 : 1);
  for (std::vector<Outputs>& run : runs) {
    for (const Vectors& like : ys) {
      LW_ASSIGN(made, make_outputs(like));
      run.push_back(std::move(made));
    }
  }
  if (style.overlapped) {
    // Once before: its memory is allocated.
    LW_TRY(x.set(true, false));
    LW_TRY(device_->wait(nullptr));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (style.overlapped) LW_TRY(x.set(i == 1, true));
    LW_TRY(enqueue(kernel, style, x, ys, runs[i], reinterpret_cast<const std::int32_t*>(ids.data())));
  }
  LW_TRY(device_->wait(nullptr));

  Findings findings;
  for (std::size_t i = 0; i < ys.size(); ++i) {
    LW_TRY(copy_outputs(ys[i], runs[0][i], false));
    if (problem_.apart != 0) LW_TRY(compare_between(ys[i], runs[0][i], x, findings.between));
    if (runs.size() == 1) continue;
    const std::uint64_t elements = ys[i].count * ys[i].y.stride;
    std::vector<std::uint8_t> again(elements * dtype_bytes(ys[i].y.dtype));
    Vectors second = ys[i];
    second.y.data = again.data();
    LW_TRY(copy_outputs(second, runs[2][i], false));
    for (std::uint64_t v = 0; v < ys[i].count; ++v) {
      for (std::uint64_t row = 0; row < ys[i].y.stride; ++row) {
        Difference pair;
        pair.row = row;
        pair.token = v;
        pair.got = output_bits(second.y, v, row);
        pair.expected = output_bits(ys[i].y, v, row);
        note_bits(findings.repeated, pair);
      }
    }
  }
  const auto count_damaged = [&](const FencedOnGpu& fenced) -> Outcome {
    LW_ASSIGN(damaged, fenced.damaged());
    findings.damaged += damaged;
    return Done{};
  };
  for (const std::vector<Outputs>& run : runs) {
    for (const Outputs& y : run) LW_TRY(count_damaged(y.memory));
  }
  if (problem_.experts != 0) LW_TRY(refuse_ids(kernel, style, x, ys, findings));
  for (const Part& part : parts_) {
    LW_TRY(count_damaged(part.raw));
    LW_TRY(count_damaged(part.packed));
  }
  LW_ASSIGN(of_x, x.damaged());
  findings.damaged += of_x;
  return findings;
}

Outcome MatrixOnGpu::refuse_ids(const KernelDesc& kernel, const gpu::LaunchStyle& style, InputOnGpu& x,
                                std::span<const Vectors> ys, Findings& findings) {
  LW_ASSIGN(reported, x.image().has_bad_ids());
  findings.bad_ids_taken = reported;  // of ids that are all in range
  std::vector<std::int32_t> ids = expert_ids(problem_, x.tokens());
  for (const std::int32_t wrong : {static_cast<std::int32_t>(problem_.experts), -1}) {
    // The first of the first slice, the last of the last.
    std::int32_t& place = wrong < 0 ? ids.front() : ids.back();
    const std::int32_t right = std::exchange(place, wrong);
    LW_ASSIGN(there, gpu::Memory::allocate(device_, ids.size() * sizeof(std::int32_t)));
    LW_TRY(device_->copy(there.data(), ids.data(), there.bytes()));
    place = right;
    std::vector<Outputs> run;
    for (const Vectors& like : ys) {
      LW_ASSIGN(made, make_outputs(like));
      LW_TRY(device_->fill(made.memory.data(), unmade, made.memory.size()));
      run.push_back(std::move(made));
    }
    LW_TRY(enqueue(kernel, style, x, ys, run, reinterpret_cast<const std::int32_t*>(there.data())));
    LW_TRY(device_->wait(nullptr));
    LW_ASSIGN(refused, x.image().has_bad_ids());
    findings.bad_ids_taken = findings.bad_ids_taken || !refused;
    for (const Outputs& y : run) {
      std::vector<std::uint8_t> held(y.memory.size());
      LW_TRY(device_->copy(held.data(), y.memory.data(), held.size()));
      const bool untouched = std::ranges::all_of(held, [](std::uint8_t byte) { return byte == unmade; });
      LW_ASSIGN(damaged, y.memory.damaged());
      findings.damaged += damaged;
      findings.bad_ids_taken = findings.bad_ids_taken || !untouched;
    }
  }
  return Done{};
}

}  // namespace lanewise
