// What stands behind the opaque handles of lanewise.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "arithmetic/activation.h"
#include "backends/cpu/pool.h"
#include "backends/gpu/gpu.h"
#include "formats/matrix_view.h"
#include "gguf/reader.h"
#include "kernels/kernel.h"
#include "kernels/parts.h"
#include "lanewise/lanewise.h"
#include "layout/layout.h"

namespace lanewise::edge {

/// The first word of a handle: tells a handle of another kind, and mostly one already freed, from a good one.
enum class Tag : std::uint32_t {
  gone = 0,
  model = 0x4C574D31,
  device = 0x4C574431,
  matrix = 0x4C575731,
  activation = 0x4C575831,
};

struct Handle {
  explicit Handle(Tag kind) : tag(kind) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { *static_cast<volatile Tag*>(&tag) = Tag::gone; }
  Tag tag;
};

/// Runs the parts of a call; leaves the workers alone in a child of fork(), where they don't exist.
struct PoolDeleter {
  void operator()(Pool* pool) const {
    if (pool->is_of_this_process()) delete pool;
  }
};

/// Memory of a packed matrix, mapped so that the system may back it with huge pages.
class PackedBytes {
 public:
  PackedBytes(std::uint8_t* data, std::uint64_t bytes) : data_(data), bytes_(bytes) {}
  PackedBytes(PackedBytes&& other) noexcept : data_(other.data_), bytes_(other.bytes_) { other.data_ = nullptr; }
  PackedBytes& operator=(PackedBytes&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~PackedBytes();
  /// Null where the system has no such room.
  static PackedBytes map(std::uint64_t bytes);
  [[nodiscard]] std::uint8_t* data() const { return data_; }

 private:
  std::uint8_t* data_;
  std::uint64_t bytes_;
};

template <class T>
[[nodiscard]] bool is_valid(const T* handle) {
  return handle != nullptr && handle->handle.tag == T::kind;
}

}  // namespace lanewise::edge

struct lw_model {
  static constexpr auto kind = lanewise::edge::Tag::model;
  lanewise::edge::Handle handle{kind};
  std::shared_ptr<const lanewise::gguf::Model> model;  // matrices share it
};

struct lw_device {
  static constexpr auto kind = lanewise::edge::Tag::device;
  lanewise::edge::Handle handle{kind};
  std::uint64_t id = 0;              // of no other device in this process: what matrices and activations remember
  std::string_view backend = "cpu";  // whose kernels it runs
  std::string name;
  std::string description;
  std::string kernel;  // empty: chosen
  std::uint32_t capabilities = 0;
  lanewise::Layout layout = lanewise::Layout::raw;  // that matrices of codes are put into
  bool layout_is_chosen = false;                    // by the caller: what can't be put into it is an error
  std::uint32_t threads = 1;
  lw_parallel_for parallel_for = nullptr;
  void* parallel_user = nullptr;
  lanewise::PartSizes part_sizes = lanewise::sleepers_parts;
  std::unique_ptr<lanewise::Pool, lanewise::edge::PoolDeleter> pool;  // null with parallel_for, and on other devices

  std::shared_ptr<lanewise::gpu::Device> gpu;  // null: the CPU
  void* stream = nullptr;                      // of such a device, the caller's
  bool overlapped = false;

  std::shared_ptr<const lanewise::Tuning> tuning;  // handles of one device share it; null: nothing was measured
  /// What choose() takes of it.
  [[nodiscard]] lanewise::Measured measured() const { return {tuning.get(), gpu == nullptr ? threads : 0}; }

  /// The most parts worth making of a call.
  [[nodiscard]] std::uint32_t most_parts() const;
  void run(std::uint32_t count, lanewise::Pool::Task task, void* context) const;
};

struct lw_matrix {
  static constexpr auto kind = lanewise::edge::Tag::matrix;
  lanewise::edge::Handle handle{kind};
  std::uint64_t device_id = 0;
  lanewise::MatrixView view;  // its data is `packed` where the layout isn't raw
  lanewise::Layout layout = lanewise::Layout::raw;
  std::uint64_t held_bytes = 0;  // at view.data
  lanewise::edge::PackedBytes packed{nullptr, 0};
  lanewise::gpu::Memory on_gpu;
  std::shared_ptr<const lanewise::gguf::Model> model;  // null: bare bytes, or packed
};

struct lw_activation {
  static constexpr auto kind = lanewise::edge::Tag::activation;
  lanewise::edge::Handle handle{kind};
  std::uint64_t device_id = 0;
  std::unique_ptr<lanewise::Activation> activation;  // null: on another device
  std::unique_ptr<lanewise::gpu::Image> image;       // null: on the CPU
  void* stream = nullptr;                            // that it is set on
  bool overlapped = false;
  const void* workspace = nullptr;  // the caller's, or null
  std::uint64_t workspace_bytes = 0;
  bool is_set = false;

  [[nodiscard]] lanewise::Planes planes() const { return image ? image->planes() : activation->planes(); }
  [[nodiscard]] std::uint64_t tokens() const { return image ? image->tokens() : activation->tokens(); }
  [[nodiscard]] std::uint64_t max_tokens() const { return image ? image->max_tokens() : activation->max_tokens(); }
  [[nodiscard]] std::uint64_t cols() const { return image ? image->cols() : activation->cols(); }
};
