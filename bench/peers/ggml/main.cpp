// lanewise-peer-ggml [cpu|extra|cuda]: ggml as a peer of `lanewise bench` (../README.md has the protocol). A case is
// mul_mat of copies of W with x in fp32, a node a copy, through ggml's public interface. `cpu` (the default) keeps W in
// the CPU backend's default buffer, as the file has it; `extra` in the first buffer type that takes it, of those that
// ggml offers beside (CPU_REPACK), and in the default one where none does; `cuda` is the CUDA backend on its first
// device, where the ggml that this was built with has one.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"
#ifdef LANEWISE_PEER_CUDA
#include "ggml-cuda.h"
#endif

namespace {

using Clock = std::chrono::steady_clock;

// What ../README.md says of a round.
constexpr double least_seconds = 0.01;
constexpr double most_seconds = 0.25;
// A graph is so many bytes of W at least: some milliseconds, beside which starting it is nothing.
constexpr std::uint64_t graph_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t most_nodes = 1000;
// Computations of a CUDA graph before any that counts: ggml captures it in one of the first.
constexpr int unmeasured_on_cuda = 4;
constexpr std::int64_t checked_rows = 16;
constexpr std::int64_t checked_tokens = 8;
// Of the sum of |terms|. ggml rounds x to 8 bits a block: its worst case is 1/254 of a block's largest term; what is
// wrong altogether is off by a good part of the sum.
constexpr double allowed_error = 0.02;

template <auto release>
struct Freer {
  template <class T>
  void operator()(T* object) const {
    release(object);
  }
};
using Backend = std::unique_ptr<ggml_backend, Freer<ggml_backend_free>>;
using Pool = std::unique_ptr<ggml_threadpool, Freer<ggml_threadpool_free>>;
using Tensors = std::unique_ptr<ggml_context, Freer<ggml_free>>;
using Buffer = std::unique_ptr<ggml_backend_buffer, Freer<ggml_backend_buffer_free>>;

struct Case {
  ggml_type type = GGML_TYPE_COUNT;
  std::int64_t cols = 0;
  std::int64_t rows = 0;
  std::int64_t tokens = 0;
  int threads = 0;
  std::uint64_t bytes = 0;

  [[nodiscard]] bool same_matrix(const Case& other) const {
    return type == other.type && cols == other.cols && rows == other.rows && bytes == other.bytes;
  }
};

enum class Where { cpu, extra, cuda };

// Why a case can't be timed; it becomes `unsupported WHY`.
struct Refusal {
  std::string why;
};

Tensors new_tensors(std::size_t count, std::size_t graphs, std::size_t graph_nodes) {
  const std::size_t size =
      ggml_tensor_overhead() * (count + 8) + graphs * ggml_graph_overhead_custom(graph_nodes, false);
  Tensors tensors(ggml_init({size, nullptr, true}));
  if (tensors == nullptr) throw Refusal{"no memory for a graph"};
  return tensors;
}

// The first of the buffer types beside the default one that can hold `w` for this product; null where none can.
ggml_backend_buffer_type_t extra_buffer_type(ggml_tensor* w, const ggml_tensor* product) {
  ggml_backend_dev_t device = ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0);
  const auto list = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(
      ggml_backend_reg_get_proc_address(ggml_backend_cpu_reg(), "ggml_backend_dev_get_extra_bufts"));
  if (list == nullptr) return nullptr;
  for (ggml_backend_buffer_type_t* type = list(device); type != nullptr && *type != nullptr; ++type) {
    const Buffer nothing(ggml_backend_buft_alloc_buffer(*type, 0));
    w->buffer = nothing.get();
    const bool fits = ggml_backend_dev_supports_op(device, product);
    w->buffer = nullptr;
    if (fits) return *type;
  }
  return nullptr;
}

// Copies of one W.
class Matrix {
 public:
  Matrix(const Case& wanted, Where where, ggml_backend_t backend) : case_(wanted) {
    const std::uint64_t size = ggml_row_size(case_.type, case_.cols) * static_cast<std::uint64_t>(case_.rows);
    const std::uint64_t copies = std::max<std::uint64_t>(1, case_.bytes / size);
    fill(size);
    tensors_ = new_tensors(copies + 2, 0, 0);
    for (std::uint64_t i = 0; i < copies; ++i) {
      copies_.push_back(ggml_new_tensor_2d(tensors_.get(), case_.type, case_.cols, case_.rows));
    }
    ggml_backend_buffer_type_t type = nullptr;
    if (where == Where::extra) {
      ggml_tensor* x = ggml_new_tensor_2d(tensors_.get(), GGML_TYPE_F32, case_.cols, 1);
      const ggml_tensor* product = ggml_mul_mat(tensors_.get(), copies_[0], x);
      type = extra_buffer_type(copies_[0], product);
    }
    if (type == nullptr) type = ggml_backend_get_default_buffer_type(backend);
    place(type);
    for (ggml_tensor* copy : copies_) ggml_backend_tensor_set(copy, bytes_.data(), 0, size);
    buffer_name_ = ggml_backend_buft_name(type);
  }

  [[nodiscard]] const Case& what() const { return case_; }
  [[nodiscard]] const std::vector<ggml_tensor*>& copies() const { return copies_; }
  [[nodiscard]] const std::string& buffer_name() const { return buffer_name_; }

  /// One row as floats, decoded by ggml's own reference.
  [[nodiscard]] std::vector<float> row(std::int64_t index) const {
    std::vector<float> values(static_cast<std::size_t>(case_.cols));
    const std::size_t stride = ggml_row_size(case_.type, case_.cols);
    const std::uint8_t* begin = bytes_.data() + static_cast<std::size_t>(index) * stride;
    if (case_.type == GGML_TYPE_F32) {
      std::memcpy(values.data(), begin, stride);
    } else {
      ggml_get_type_traits(case_.type)->to_float(begin, values.data(), case_.cols);
    }
    return values;
  }

 private:
  // Random blocks without an infinity or NaN among their scales; of plain floats, numbers of [-1, 1].
  void fill(std::uint64_t size) {
    std::mt19937 random(1);
    bytes_.resize(size);
    if (!ggml_is_quantized(case_.type)) {
      std::vector<float> values(static_cast<std::size_t>(case_.cols * case_.rows));
      for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(random);
      ggml_quantize_chunk(case_.type, values.data(), bytes_.data(), 0, case_.rows, case_.cols, nullptr);
      return;
    }
    // Without bit 14 a half is below 2, and every scale that is a half starts at an even byte. Scales of one byte may
    // lie anywhere: then bit 6 of all bytes goes.
    const bool halves = ggml_type_size(case_.type) % 2 == 0;
    for (const std::uint32_t kept : {halves ? 0xBFFFBFFFU : 0xBFBFBFBFU, 0xBFBFBFBFU}) {
      for (std::uint64_t i = 0; i < size; i += 4) {
        const std::uint32_t word = static_cast<std::uint32_t>(random()) & kept;
        std::memcpy(&bytes_[i], &word, std::min<std::uint64_t>(4, size - i));
      }
      if (ggml_validate_row_data(case_.type, bytes_.data(), size)) return;
    }
    throw Refusal{"no sound blocks of this type could be made"};
  }

  void place(ggml_backend_buffer_type_t type) {
    const std::size_t unit = std::max<std::size_t>(64, ggml_backend_buft_get_alignment(type));
    const std::size_t step = (ggml_backend_buft_get_alloc_size(type, copies_[0]) + unit - 1) / unit * unit;
    buffer_.reset(ggml_backend_buft_alloc_buffer(type, step * copies_.size()));
    if (buffer_ == nullptr) throw Refusal{"no memory for the copies of W"};
    ggml_backend_buffer_set_usage(buffer_.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    auto* base = static_cast<std::uint8_t*>(ggml_backend_buffer_get_base(buffer_.get()));
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      if (ggml_backend_tensor_alloc(buffer_.get(), copies_[i], base + i * step) != GGML_STATUS_SUCCESS) {
        throw Refusal{"a copy of W could not be placed"};
      }
    }
  }

  Case case_;
  std::vector<std::uint8_t> bytes_;
  Tensors tensors_;
  Buffer buffer_;
  std::string buffer_name_;
  std::vector<ggml_tensor*> copies_;
};

// The products of all copies with one x, in graphs of some milliseconds each; on CUDA in one, which is a CUDA graph.
class Work {
 public:
  Work(const Case& wanted, const Matrix& matrix, Where where, ggml_backend_t backend)
      : case_(wanted), matrix_(matrix), backend_(backend) {
    const std::size_t copies = matrix.copies().size();
    const std::uint64_t size = ggml_nbytes(matrix.copies()[0]);
    std::size_t nodes = std::min<std::uint64_t>(most_nodes, 1 + (graph_bytes - 1) / size);
    if (where == Where::cuda) nodes = std::max(nodes, copies);
    // Few copies are gone through as often as fills a graph.
    const std::size_t calls = std::max(copies, nodes / copies * copies);
    const std::size_t graphs = (calls + nodes - 1) / nodes;
    tensors_ = new_tensors(calls + 1, graphs, 2 * nodes + 8);
    ggml_tensor* x = ggml_new_tensor_2d(tensors_.get(), GGML_TYPE_F32, case_.cols, case_.tokens);
    std::mt19937 random(2);
    x_.resize(static_cast<std::size_t>(case_.cols * case_.tokens));
    for (float& value : x_) value = std::uniform_real_distribution<float>(-1, 1)(random);
    place(x, &x_buffer_);
    ggml_backend_tensor_set(x, x_.data(), 0, x_.size() * sizeof(float));
    for (std::size_t i = 0; i < calls; ++i) {
      if (i % nodes == 0) {
        graphs_.push_back({ggml_new_graph_custom(tensors_.get(), 2 * nodes + 8, false), 0});
      }
      ggml_tensor* y = ggml_mul_mat(tensors_.get(), matrix.copies()[i % copies], x);
      if (!ggml_backend_supports_op(backend, y)) throw Refusal{"this backend of ggml's has no such product"};
      // All products write to the same place: each is what a caller has before the next.
      if (i == 0) {
        place(y, &y_buffer_);
        y_ = y;
      } else if (ggml_backend_tensor_alloc(y_buffer_.get(), y, ggml_backend_buffer_get_base(y_buffer_.get())) !=
                 GGML_STATUS_SUCCESS) {
        throw Refusal{"no place for the outputs"};
      }
      ggml_build_forward_expand(graphs_.back().graph, y);
      ++graphs_.back().calls;
    }
    poison();
    for (int i = 0; i < (where == Where::cuda ? unmeasured_on_cuda : 1); ++i) compute(graphs_.back());
    check();
  }

  /// `time CALLS MICROSECONDS`.
  std::string round() {
    poison();
    const std::uint64_t copies = matrix_.copies().size();
    std::uint64_t calls = 0;
    double took = 0;
    const auto start = Clock::now();
    do {
      const Graph& graph = graphs_[next_];
      next_ = (next_ + 1) % graphs_.size();
      compute(graph);
      calls += graph.calls;
      took = std::chrono::duration<double>(Clock::now() - start).count();
    } while ((calls < copies || took < least_seconds) && took < most_seconds);
    check();
    std::ostringstream line;
    line << "time " << calls << ' ' << std::fixed << took * 1e6;
    return line.str();
  }

 private:
  struct Graph {
    ggml_cgraph* graph;
    std::uint64_t calls;
  };

  void place(ggml_tensor* tensor, Buffer* buffer) const {
    ggml_backend_buffer_type_t type = ggml_backend_get_default_buffer_type(backend_);
    buffer->reset(ggml_backend_buft_alloc_buffer(type, ggml_backend_buft_get_alloc_size(type, tensor)));
    if (*buffer == nullptr ||
        ggml_backend_tensor_alloc(buffer->get(), tensor, ggml_backend_buffer_get_base(buffer->get())) !=
            GGML_STATUS_SUCCESS) {
      throw Refusal{"no memory for x and y"};
    }
  }

  void compute(const Graph& graph) const {
    if (ggml_backend_graph_compute(backend_, graph.graph) != GGML_STATUS_SUCCESS) throw Refusal{"ggml failed"};
  }

  // What isn't written must not pass for a result.
  void poison() const { ggml_backend_tensor_memset(y_, 0xFF, 0, ggml_nbytes(y_)); }

  // Some outputs against W as ggml decodes it, so that no time stands for a product that wasn't made.
  void check() const {
    std::vector<float> y(static_cast<std::size_t>(case_.rows * case_.tokens));
    ggml_backend_tensor_get(y_, y.data(), 0, ggml_nbytes(y_));
    const std::int64_t count = std::min(checked_rows, case_.rows);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t index = count == 1 ? 0 : i * (case_.rows - 1) / (count - 1);
      const std::vector<float> row = matrix_.row(index);
      for (std::int64_t token = 0; token < std::min(checked_tokens, case_.tokens); ++token) {
        const float* x = x_.data() + token * case_.cols;
        double sum = 0;
        double size = std::numeric_limits<float>::min();
        for (std::size_t k = 0; k < row.size(); ++k) {
          const double term = double{row[k]} * double{x[k]};
          sum += term;
          size += std::abs(term);
        }
        // Said so that NaN fails.
        const double error = std::abs(double{y[static_cast<std::size_t>(token * case_.rows + index)]} - sum);
        if (!(error <= allowed_error * size)) {
          throw Refusal{"ggml's product differs from its own decoding: row " + std::to_string(index) + ", token " +
                        std::to_string(token) + ", off by " + std::to_string(error / size) + " of the sum of |terms|"};
        }
      }
    }
  }

  Case case_;
  const Matrix& matrix_;
  ggml_backend_t backend_;
  std::vector<float> x_;
  Tensors tensors_;
  Buffer x_buffer_;
  Buffer y_buffer_;
  ggml_tensor* y_ = nullptr;
  std::vector<Graph> graphs_;
  std::size_t next_ = 0;
};

class Peer {
 public:
  Peer(Where where, Backend backend) : where_(where), backend_(std::move(backend)) {}

  [[nodiscard]] std::string hello() const {
    std::string line = std::string("hello 1 ggml ") + ggml_version();
    ggml_backend_dev_t device = ggml_backend_get_device(backend_.get());
    ggml_backend_reg_t registered = ggml_backend_dev_backend_reg(device);
    if (where_ == Where::cpu) line += " W in ggml's default CPU buffer;";
    if (where_ == Where::extra) line += " W in ggml's extra CPU buffers where they take it;";
    if (where_ == Where::cuda) line += std::string(" CUDA graphs on ") + ggml_backend_dev_description(device) + ";";
    const auto features = reinterpret_cast<ggml_backend_get_features_t>(
        ggml_backend_reg_get_proc_address(registered, "ggml_backend_get_features"));
    if (features == nullptr) return line + " features unknown";
    for (const ggml_backend_feature* each = features(registered); each->name != nullptr; ++each) {
      line += std::string(" ") + each->name;
    }
    return line;
  }

  std::string prepare(std::istream& words) {
    work_.reset();
    const Case wanted = read_case(words);
    if (matrix_ == nullptr || !matrix_->what().same_matrix(wanted)) {
      matrix_.reset();
      matrix_ = std::make_unique<Matrix>(wanted, where_, backend_.get());
    }
    if (where_ != Where::cuda) use_threads(wanted.threads);
    work_ = std::make_unique<Work>(wanted, *matrix_, where_, backend_.get());
    return "ok " + std::to_string(matrix_->copies().size()) + " copies in buffer " + matrix_->buffer_name();
  }

  std::string round() {
    if (work_ == nullptr) throw Refusal{"no case to time"};
    return work_->round();
  }

 private:
  [[nodiscard]] Case read_case(std::istream& words) const {
    Case read;
    std::string name;
    words >> name >> read.cols >> read.rows >> read.tokens >> read.threads >> read.bytes;
    if (!words || read.cols <= 0 || read.rows <= 0 || read.tokens <= 0 || read.threads <= 0) {
      throw Refusal{"no case: FORMAT K ROWS TOKENS THREADS BYTES"};
    }
    for (int type = 0; type < GGML_TYPE_COUNT && read.type == GGML_TYPE_COUNT; ++type) {
      const char* known = ggml_type_name(static_cast<ggml_type>(type));
      if (known != nullptr && name == known) read.type = static_cast<ggml_type>(type);
    }
    if (read.type == GGML_TYPE_COUNT) throw Refusal{"ggml " + std::string(ggml_version()) + " has no type " + name};
    if (read.cols % ggml_blck_size(read.type) != 0) throw Refusal{"K is no multiple of the block"};
    if (where_ == Where::cuda) return read;  // whether there is such a product, the device says
    if (ggml_get_type_traits_cpu(read.type)->vec_dot == nullptr) throw Refusal{"no dot product of this type"};
    if (read.threads > GGML_MAX_N_THREADS) throw Refusal{"more threads than ggml runs"};
    return read;
  }

  // A pool that stays, as ggml's own programs have one.
  void use_threads(int threads) {
    if (pool_ != nullptr && threads == threads_) return;
    ggml_threadpool_params wanted = ggml_threadpool_params_default(threads);
    Pool pool(ggml_threadpool_new(&wanted));
    if (pool == nullptr) throw Refusal{"no threads"};
    ggml_backend_cpu_set_threadpool(backend_.get(), pool.get());
    ggml_backend_cpu_set_n_threads(backend_.get(), threads);
    pool_ = std::move(pool);
    threads_ = threads;
  }

  Where where_;
  int threads_ = 0;
  Pool pool_;
  Backend backend_;
  std::unique_ptr<Matrix> matrix_;
  std::unique_ptr<Work> work_;
};

std::string answer(Peer& peer, const std::string& question) {
  std::istringstream words(question);
  std::string verb;
  words >> verb;
  try {
    if (verb == "hello") return peer.hello();
    if (verb == "case") return peer.prepare(words);
    if (verb == "round") return peer.round();
  } catch (const Refusal& refusal) {
    return "unsupported " + refusal.why;
  } catch (const std::bad_alloc&) {
    return "unsupported no memory";
  }
  return "unsupported a question: " + verb;
}

// Null, with a line on standard error, where there is none.
Backend start(Where where) {
  if (where != Where::cuda) return Backend(ggml_backend_cpu_init());
#ifdef LANEWISE_PEER_CUDA
  if (ggml_backend_cuda_get_device_count() > 0) return Backend(ggml_backend_cuda_init(0));
  std::fputs("lanewise-peer-ggml: ggml finds no CUDA device\n", stderr);
#else
  std::fputs("lanewise-peer-ggml: it was built with a ggml without CUDA\n", stderr);
#endif
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "cpu";
  if (argc > 2 || (word != "cpu" && word != "extra" && word != "cuda")) {
    std::fputs("usage: lanewise-peer-ggml [cpu|extra|cuda], asked over its standard input\n", stderr);
    return 2;
  }
  // What it says of each tensor that it repacks is too much.
  ggml_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level == GGML_LOG_LEVEL_WARN || level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  const Where where = word == "cuda" ? Where::cuda : word == "extra" ? Where::extra : Where::cpu;
  Backend backend = start(where);
  if (backend == nullptr) return 2;
  Peer peer(where, std::move(backend));
  for (std::string question; std::getline(std::cin, question);) std::cout << answer(peer, question) << std::endl;
  return 0;
}
