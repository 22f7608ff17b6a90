#include "harness/verify.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "arithmetic/scalar.h"
#include "backends/cpu/cpu.h"
#include "harness/compare.h"
#include "harness/judge.h"
#include "harness/on_gpu.h"
#include "harness/rows.h"
#include "harness/together.h"
#include "layout/layout.h"

namespace lanewise {
namespace {

// y's tokens stand further apart than its rows, so that a kernel that takes one for the other is seen.
constexpr std::uint64_t stride_gap = 3;
constexpr std::uint64_t least_float64_rows = 16;

oracle::Input oracle_input(Dtype dtype) {
  if (dtype == Dtype::f32) return oracle::Input::fp32;
  return dtype == Dtype::f16 ? oracle::Input::fp16 : oracle::Input::bf16;
}

Error out_of_memory(const Case& problem) {
  return make_error(LW_ERROR_MEMORY, "memory ran out in " + to_string(problem));
}

// All that the windows of one matrix share, and what it found.
struct Matrix {
  const MatrixView& w;
  const Case& problem;  // the first of its runs: what they have in common
  const VerifyOptions& options;
  std::uint64_t tokens;  // of the largest window
  int id;                // ggml's number, by which the oracle knows the format
  Fenced x{};
  oracle::Activation activation{};
  std::vector<float> expected{};        // [tokens][rows], the oracle's
  std::vector<float> scalar{};          // [tokens][rows], empty where only the scalar kernel runs
  std::vector<std::uint64_t> sample{};  // rows for float64, ascending
  std::vector<oracle::Exact> exact{};   // [sample][tokens]
  BitCount weights{};
  bool sums_fit = true;
  MatrixView packed{};  // in the case's layout: `w` itself where that is raw
  std::unique_ptr<MatrixOnGpu> on_gpu{};
  std::unique_ptr<Activation> x_of_window{};  // of the last run's tokens
  std::unique_ptr<InputOnGpu> input_on_gpu{};
  bool changed_on_gpu = false;             // W, before it was loaded anew
  std::optional<Error> decoding_failed{};  // on the device

  [[nodiscard]] std::uint64_t chunk() const { return std::max<std::uint64_t>(1, chunk_elements / w.cols); }
  [[nodiscard]] InputView input(std::uint64_t count) const { return {x.data(), problem.input, count, w.cols, w.cols}; }
};

// Rows spread evenly over the matrix, a random one out of each stretch, and the first and the last.
std::vector<std::uint64_t> sample_rows(std::uint64_t rows, std::uint64_t wanted, std::uint64_t seed) {
  std::vector<std::uint64_t> sample;
  if (wanted >= rows) {
    for (std::uint64_t row = 0; row < rows; ++row) sample.push_back(row);
    return sample;
  }
  Random random(seed);
  for (std::uint64_t i = 0; i < wanted; ++i) {
    // rows * i fits: check_case() bounds rows * cols, and wanted stays below 2^32.
    const std::uint64_t begin = rows * i / wanted;
    const std::uint64_t end = rows * (i + 1) / wanted;
    std::uint64_t row = begin + random.below(std::max<std::uint64_t>(1, end - begin));
    if (i == 0) row = 0;
    if (i + 1 == wanted) row = rows - 1;
    sample.push_back(row);
  }
  return sample;
}

// The oracle's outputs, the decoding of every element, the scalar kernel's outputs: rows begin .. end-1.
void reference_rows(Matrix& m, const Activation* for_scalar, std::uint64_t begin, std::uint64_t end,
                    std::mutex& merging) {
  const auto rows = static_cast<std::int64_t>(m.w.rows);
  const auto cols = static_cast<std::int64_t>(m.w.cols);
  const oracle::SumRange range = oracle::gemv(m.id, m.w.data, rows, cols, m.activation, m.expected.data(),
                                              static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
  BitCount part;
  if (m.options.check_weights) {
    std::vector<float> ours(m.w.cols);
    std::vector<float> theirs(m.w.cols);
    std::vector<float> decoded;
    if (m.on_gpu != nullptr) {
      decoded.resize((end - begin) * m.w.cols);
      if (auto done = m.on_gpu->dequantize(begin, end, decoded.data()); !done) {
        const std::lock_guard lock(merging);
        m.decoding_failed = std::move(done).error();
        return;
      }
    }
    for (std::uint64_t row = begin; row < end; ++row) {
      if (m.on_gpu != nullptr) {
        std::copy_n(decoded.data() + (row - begin) * m.w.cols, m.w.cols, ours.data());
      } else {
        dequantize_row(m.w.format, m.w.row(row), m.w.cols, ours.data());
      }
      oracle::dequantize_row(m.id, m.w.row(row), cols, theirs.data());
      compare_weights(row, ours, theirs, part);
    }
  }
  if (for_scalar != nullptr) {
    gemv_scalar(m.w, *for_scalar, {m.scalar.data(), Dtype::f32, m.w.rows}, begin, end);
  }
  const std::lock_guard lock(merging);
  add(m.weights, part);
  m.sums_fit = m.sums_fit && range.fits;
}

void float64_rows(Matrix& m, std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t i = begin; i < end; ++i) {
    for (std::uint64_t token = 0; token < m.tokens; ++token) {
      m.exact[i * m.tokens + token] = oracle::exact(m.id, m.w.row(m.sample[i]), static_cast<std::int64_t>(m.w.cols),
                                                    m.activation, static_cast<std::int64_t>(token));
    }
  }
}

// x for so many tokens, on the CPU and on the device; compared with the oracle's when it is made.
Outcome make_window(Matrix& m, std::uint64_t tokens, Verdict& verdict) {
  if (m.x_of_window != nullptr && m.x_of_window->tokens() == tokens) return Done{};
  m.input_on_gpu.reset();
  LW_ASSIGN(activation, Activation::create(m.problem.planes, tokens, m.w.cols));
  m.x_of_window = std::move(activation);
  LW_TRY(m.x_of_window->set(m.input(tokens)));
  compare_activation(*m.x_of_window, m.activation, verdict.activation);
  if (m.options.gpu == nullptr) return Done{};
  LW_ASSIGN(there, InputOnGpu::load(m.options.gpu, m.input(tokens), *m.x_of_window));
  m.input_on_gpu = std::move(there);
  return Done{};
}

// A product on the device into `ys`, which hold their poison, and what it did beside it.
Outcome run_on_gpu(Matrix& m, const Case& run, const Plan& plan, std::span<const Vectors> ys, Verdict& verdict) {
  if (m.on_gpu != nullptr && !m.on_gpu->suits(run)) {
    LW_ASSIGN(unchanged, m.on_gpu->is_unchanged());
    m.changed_on_gpu = m.changed_on_gpu || !unchanged;
    m.on_gpu.reset();
  }
  if (m.on_gpu == nullptr) {
    LW_ASSIGN(loaded, MatrixOnGpu::load(m.options.gpu, m.w, run));
    m.on_gpu = std::move(loaded);
  }
  if (run.tile != Case{}.tile && !m.options.gpu->takes_tiling(*plan.kernel, run.tile)) {
    return make_error(LW_ERROR_ARGUMENT, "kernel '" + plan.name + "' takes no such tile: " + to_string(run));
  }
  LW_ASSIGN(found, m.on_gpu->multiply(*plan.kernel, {run.overlapped, run.tile}, *m.input_on_gpu, ys));
  verdict.red_zone_bytes += found.damaged;
  verdict.repeated = found.repeated;
  verdict.bad_ids_taken = found.bad_ids_taken;
  add(verdict.outputs, found.between);
  return m.input_on_gpu->check(verdict.activation);
}

// What a run's verdict has of its matrix.
void judge_matrix(const Matrix& m, std::uint64_t tokens, const Float64& reference, Verdict& verdict) {
  verdict.red_zone_bytes += m.x.damaged();
  verdict.weights = m.weights;
  verdict.sums_fit = m.sums_fit;
  verdict.mistrusted = mistrust(m.expected, m.w.rows, tokens, reference);
}

// Matrices computed together.
Outcome run_together(Matrix& m, const Case& run, const Plan& plan, const Float64& reference, Verdict& verdict) {
  LW_ASSIGN(together, Together::create(run, run.tokens, stride_gap));
  LW_TRY(run_on_gpu(m, run, plan, together.vectors(), verdict));
  std::uint64_t counted_once = 0;
  together.compare(m.expected, verdict.outputs, verdict.unwritten);
  together.compare(m.scalar, verdict.against_scalar, counted_once);
  verdict.red_zone_bytes += together.damaged();
  judge_matrix(m, run.tokens, reference, verdict);
  return Done{};
}

// One run: the kernel over its rows, then the comparisons.
Outcome run_one(Matrix& m, const Case& run, const Plan& plan, RowWork& work, Verdict& verdict) {
  const std::uint64_t tokens = run.tokens;
  LW_TRY(make_window(m, tokens, verdict));
  const Activation& activation = *m.x_of_window;
  const bool integers = m.problem.fill == Fill::exact && m.problem.tensor.empty();
  const Float64 reference{m.sample, m.exact, m.tokens, m.w.rows, integers ? exact_unit(m.w.format) : 0};
  if (run.is_together()) return run_together(m, run, plan, reference, verdict);

  const std::uint64_t stride = m.w.rows + stride_gap;
  LW_ASSIGN(memory, Fenced::create(tokens * stride * dtype_bytes(m.problem.output), Fence::canary));
  const OutputView y{memory.data(), m.problem.output, stride};
  poison(y, tokens * stride);

  const bool is_scalar = plan.kernel->launch == &gemv_scalar && !m.options.replacement;
  const bool by_rows = m.options.gpu == nullptr || m.options.replacement;
  if (!by_rows) {
    const Vectors vectors{y, m.w.rows, tokens};
    LW_TRY(run_on_gpu(m, run, plan, {&vectors, 1}, verdict));
  }
  const bool done = work.run(m.w.rows, m.chunk(), [&](std::uint64_t begin, std::uint64_t end) {
    if (!by_rows) return;
    if (m.options.replacement) {
      m.options.replacement(m.w, activation, y, begin, end);
    } else {
      plan.kernel->launch(m.packed, activation, y, begin, end);
    }
  });
  if (!done) {
    if (work.out_of_memory()) return out_of_memory(m.problem);
    verdict.cancelled = true;
    return Done{};
  }
  // Only now: a kernel that writes into the rows of another chunk must be caught too.
  const auto compare = [&](const std::vector<float>& reference_y, BitCount& count, std::uint64_t& unwritten) {
    // The view is only read.
    const OutputView expected{const_cast<float*>(reference_y.data()), Dtype::f32, m.w.rows};
    compare_outputs(y, expected, tokens, 0, m.w.rows, count, unwritten);
  };
  std::uint64_t counted_once = 0;
  compare(m.expected, verdict.outputs, verdict.unwritten);
  if (!is_scalar) compare(m.scalar, verdict.against_scalar, counted_once);
  verdict.red_zone_bytes += memory.damaged() + damaged_gaps(y, tokens, m.w.rows) * dtype_bytes(m.problem.output);
  verdict.errors = compare_float64(y, tokens, reference);
  judge_matrix(m, tokens, reference, verdict);
  return Done{};
}

Outcome make_x(Matrix& m) {
  LW_ASSIGN(memory, Fenced::create(m.tokens * m.w.cols * dtype_bytes(m.problem.input), Fence::page));
  m.x = std::move(memory);
  // A page's end may be no multiple of the type's size only if the size is none either: never here.
  fill_x(m.w.format, m.tokens, m.w.cols, m.problem.fill, m.problem.seed, m.problem.input, m.x.data());
  m.activation = oracle::activate(m.x.data(), oracle_input(m.problem.input), static_cast<std::int64_t>(m.tokens),
                                  static_cast<std::int64_t>(m.w.cols), static_cast<int>(plane_count(m.problem.planes)));
  return Done{};
}

std::span<const std::uint8_t> bytes_of(const MatrixView& w) { return {w.data, w.bytes()}; }

// The matrix in the case's layout, between fences; an error where unpacking it doesn't give the bytes back.
Outcome pack(Matrix& m, Fenced& memory) {
  LW_ASSIGN(made, Fenced::create(packed_bytes(m.problem.layout, m.w), Fence::page));
  memory = std::move(made);
  const std::uint64_t tiles = pack_units(m.problem.layout, m.w.rows);
  pack_matrix(m.problem.layout, m.w, 0, tiles, memory.data());
  std::vector<std::uint8_t> back(m.w.bytes());
  unpack_matrix(m.problem.layout, m.w, memory.data(), 0, tiles, back.data());
  if (!std::ranges::equal(back, bytes_of(m.w))) {
    return make_error(LW_ERROR_INTERNAL, "layout " + std::string(layout_name(m.problem.layout)) +
                                             " doesn't give the bytes of " + to_string(m.problem) + " back");
  }
  m.packed.data = memory.data();
  return Done{};
}

// That a run shares W and x with the first, and that there is something that can do what it says.
Outcome check_run(const Case& first, const Case& run, const VerifyOptions& options) {
  LW_TRY(check_case(run));
  Case same = run;
  same.tokens = first.tokens;
  same.kernel = first.kernel;
  same.tile = first.tile;
  same.overlapped = first.overlapped;
  same.group = first.group;
  same.experts = first.experts;
  if (options.gpu != nullptr) same.layout = first.layout;
  if (same != first) {
    return make_error(LW_ERROR_ARGUMENT, "not of one W and x: " + to_string(first) + " and " + to_string(run));
  }
  if (run.says_how_to_launch() && (options.gpu == nullptr || options.replacement)) {
    return make_error(LW_ERROR_ARGUMENT,
                      "tile, overlapped, group, experts and apart are of a GPU (--device): " + to_string(run));
  }
  if (run.overlapped && (options.gpu->capabilities() & CAP_SM90) == 0) {
    return make_error(LW_ERROR_UNSUPPORTED,
                      options.gpu->info().id() + " has no overlapped launches: " + to_string(run));
  }
  return Done{};
}

Outcome run_all(const MatrixView& w, std::span<const Case> runs, const VerifyOptions& options,
                std::vector<Verdict>& verdicts) {
  const Case& problem = runs.front();
  const std::uint64_t most = std::ranges::max_element(runs, {}, &Case::tokens)->tokens;
  Matrix m{w, problem, options, most, static_cast<int>(format_info(w.format).id)};
  std::vector<Plan> plans;
  bool needs_scalar = static_cast<bool>(options.replacement);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Case one = runs[i];
    LW_TRY(check_run(problem, one, options));
    const Problem asked{w.format, w.rows, w.cols, one.tokens, one.planes, one.layout};
    const std::string backend = options.gpu != nullptr ? options.gpu->info().backend : "cpu";
    LW_ASSIGN(plan, select(asked, backend, options.gpu != nullptr ? options.gpu->capabilities() : cpu_capabilities(),
                           one.kernel));
    one.kernel = plan.name;
    verdicts[i].problem = to_string(one);
    verdicts[i].kernel = plan.name;
    verdicts[i].why = plan.why;
    verdicts[i].launched = {one.tile != Case{}.tile, one.overlapped, !one.group.empty(), one.experts != 0,
                            one.apart != 0};
    needs_scalar = needs_scalar || plan.kernel->launch != &gemv_scalar;
    plans.push_back(std::move(plan));
  }
  LW_TRY(make_x(m));
  m.expected.resize(most * w.rows);
  if (needs_scalar) m.scalar.resize(most * w.rows);
  const std::uint64_t affordable = options.float64_terms / w.cols / most;
  m.sample = sample_rows(w.rows, std::max(affordable, least_float64_rows), problem.seed);
  m.exact.resize(m.sample.size() * most);

  const Fingerprint w_before = fingerprint(bytes_of(w));
  const std::span<const std::uint8_t> x_bytes(m.x.data(), m.x.size());
  const Fingerprint x_before = fingerprint(x_bytes);
  LW_ASSIGN(widest, Activation::create(problem.planes, most, w.cols));
  LW_TRY(widest->set(m.input(most)));

  Fenced packed;
  m.packed = w;
  if (options.gpu != nullptr) {
    LW_ASSIGN(loaded, MatrixOnGpu::load(options.gpu, w, problem));
    m.on_gpu = std::move(loaded);
  } else if (problem.layout != Layout::raw) {
    LW_TRY(pack(m, packed));
  }

  RowWork work(options, w.rows * (1 + runs.size()) + m.sample.size());
  std::mutex merging;
  const auto references = [&](std::uint64_t begin, std::uint64_t end) {
    reference_rows(m, needs_scalar ? widest.get() : nullptr, begin, end, merging);
  };
  const std::uint64_t few = std::max<std::uint64_t>(1, m.chunk() / 8);
  const bool done =
      work.run(w.rows, m.chunk(), references) &&
      work.run(m.sample.size(), few, [&](std::uint64_t begin, std::uint64_t end) { float64_rows(m, begin, end); });
  if (work.out_of_memory()) return out_of_memory(problem);
  if (m.decoding_failed) return *m.decoding_failed;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (done && !work.cancelled()) {
      if (Outcome ran = run_one(m, runs[i], plans[i], work, verdicts[i]); !ran) verdicts[i].error = ran.error();
    } else {
      verdicts[i].cancelled = true;
    }
  }
  // One fingerprint for all runs: a change is every run's, as nothing tells whose it is.
  bool changed = fingerprint(bytes_of(w)) != w_before || fingerprint(x_bytes) != x_before;
  if (m.on_gpu != nullptr) {
    LW_ASSIGN(unchanged, m.on_gpu->is_unchanged());
    changed = changed || m.changed_on_gpu || !unchanged;
  }
  for (Verdict& verdict : verdicts) verdict.inputs_changed = changed;
  return Done{};
}

}  // namespace

namespace {

std::vector<Verdict> verify_all(const MatrixView& w, std::vector<Case> runs, const VerifyOptions& options) {
  std::vector<Verdict> verdicts(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].format = w.format;
    runs[i].rows = w.rows;
    runs[i].cols = w.cols;
    verdicts[i].problem = to_string(runs[i]);
  }
  if (runs.empty()) return verdicts;
  Outcome outcome = Done{};
  try {
    outcome = check_case(runs.front());
    if (outcome) outcome = run_all(w, runs, options, verdicts);
  } catch (const std::bad_alloc&) {
    outcome = out_of_memory(runs.front());
  }
  if (!outcome) {
    for (Verdict& verdict : verdicts) verdict.error = outcome.error();
  }
  return verdicts;
}

}  // namespace

std::vector<Verdict> verify_windows(const MatrixView& w, const Case& problem, std::span<const std::uint64_t> tokens,
                                    const VerifyOptions& options) {
  std::vector<Case> runs(tokens.size(), problem);
  for (std::size_t i = 0; i < tokens.size(); ++i) runs[i].tokens = tokens[i];
  return verify_all(w, std::move(runs), options);
}

Verdict verify_matrix(const MatrixView& w, std::string_view label, std::uint64_t tokens, Planes planes, Fill x_fill,
                      const VerifyOptions& options) {
  Case problem;
  problem.planes = planes;
  problem.fill = x_fill;
  problem.tensor = label;
  return std::move(verify_windows(w, problem, {&tokens, 1}, options).front());
}

Verdict verify_case(const Case& problem, const VerifyOptions& options) {
  return std::move(verify_runs({&problem, 1}, options).front());
}

std::vector<Verdict> verify_runs(std::span<const Case> runs, const VerifyOptions& options) {
  std::vector<Verdict> refused(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) refused[i].problem = to_string(runs[i]);
  const auto refuse = [&](const Error& error) {
    for (Verdict& verdict : refused) verdict.error = error;
    return refused;
  };
  if (runs.empty()) return refused;
  const Case& problem = runs.front();
  if (!problem.tensor.empty()) {
    return refuse(make_error(LW_ERROR_ARGUMENT,
                             "tensor=" + problem.tensor + " names a matrix of a model file, and none is given"));
  }
  if (Outcome sound = check_case(problem); !sound) return refuse(sound.error());
  MatrixView w{problem.format, problem.rows, problem.cols, nullptr};
  auto memory = Fenced::create(w.bytes(), Fence::page);
  if (!memory) return refuse(memory.error());
  w.data = memory->data();
  // Not part of the progress, which counts the rows of the work that is judged.
  VerifyOptions filling;
  filling.threads = options.threads;
  filling.cancel = options.cancel;
  RowWork work(filling, problem.rows);
  const std::uint64_t chunk = std::max<std::uint64_t>(1, chunk_elements / problem.cols);
  const bool filled = work.run(problem.rows, chunk, [&](std::uint64_t begin, std::uint64_t end) {
    fill_weights(problem.format, problem.cols, problem.fill, problem.seed, begin, end, memory->data());
  });
  if (!filled) {
    if (work.out_of_memory()) return refuse(out_of_memory(problem));
    for (Verdict& verdict : refused) verdict.cancelled = true;
    return refused;
  }
  std::vector<Verdict> verdicts = verify_all(w, {runs.begin(), runs.end()}, options);
  for (Verdict& verdict : verdicts) verdict.red_zone_bytes += memory->damaged();
  return verdicts;
}

}  // namespace lanewise
