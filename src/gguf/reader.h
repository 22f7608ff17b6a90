// A GGUF model, opened and checked: its metadata and tensors as views into the files' bytes. docs/gguf.md says what is
// accepted. Any bytes give a model or an Error with a code, a sentence and the byte of the file at which the fault
// lies.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"
#include "formats/formats.h"
#include "gguf/metadata.h"
#include "gguf/shard.h"
#include "gguf/types.h"

namespace lanewise::gguf {

/// A tensor of a model; valid while the model lives, wherever the model is moved.
struct TensorView {
  std::string_view name;   ///< null-terminated, holds no null byte; need not be UTF-8 (see escape.h)
  std::uint32_t type = 0;  ///< ggml's number
  const TypeInfo* type_info = nullptr;
  const FormatInfo* format = nullptr;                       ///< nullptr: the type is no weight format
  std::array<std::uint64_t, max_dims> dims = {1, 1, 1, 1};  ///< dims[0] is K, contiguous; unused ones are 1
  std::uint32_t dim_count = 0;                              ///< 0 for a scalar
  std::span<const std::uint8_t> bytes;
  std::uint64_t offset = 0;  ///< of `bytes` in its file
  std::uint32_t shard = 0;

  [[nodiscard]] bool is_empty() const { return dims[0] == 0 || dims[1] == 0 || dims[2] == 0 || dims[3] == 0; }
  [[nodiscard]] std::uint64_t cols() const { return dims[0]; }
  /// Of one matrix. A tensor without elements has no rows and no matrices, whatever its other dimensions are.
  [[nodiscard]] std::uint64_t rows() const { return is_empty() ? 0 : dims[1]; }
  /// Matrices of `cols()` x `rows()`, one after another: dims[2] * dims[3].
  [[nodiscard]] std::uint64_t matrices() const { return is_empty() ? 0 : dims[2] * dims[3]; }
  /// At most 2^63 - 1.
  [[nodiscard]] std::uint64_t elements() const { return is_empty() ? 0 : dims[0] * dims[1] * dims[2] * dims[3]; }
};

/// One matrix of weights: rows x cols, row by row, in whole blocks.
struct MatrixView {
  Format format = Format::F32;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::span<const std::uint8_t> bytes;
};

class Model {
 public:
  /// Opens a file, or every shard of a split model from any of them. The files are mapped where the system can, and
  /// must stay as they are while the model lives (base/mapped_file.h); `access` can ask for reading instead. Errors:
  /// LW_ERROR_NOT_FOUND, LW_ERROR_IO, LW_ERROR_MEMORY, and the LW_ERROR_FILE_ codes.
  static Result<Model> open(const std::string& path, FileAccess access = FileAccess::automatic);
  /// From memory that stays with the caller, unchanged, while the model lives. A shard of a split model is refused.
  static Result<Model> open_bytes(std::span<const std::uint8_t> bytes);

  [[nodiscard]] std::uint32_t shard_count() const { return static_cast<std::uint32_t>(parts_.size()); }
  /// As given to open(); empty for bytes.
  [[nodiscard]] const std::string& shard_path(std::uint32_t shard) const { return parts_[shard].path; }
  [[nodiscard]] std::uint64_t shard_bytes(std::uint32_t shard) const { return parts_[shard].bytes.size(); }
  [[nodiscard]] bool is_mapped() const { return parts_[0].file.is_mapped(); }
  /// Of the first shard.
  [[nodiscard]] std::uint32_t version() const { return parts_[0].shard.version(); }
  [[nodiscard]] std::uint64_t alignment() const { return parts_[0].shard.alignment(); }
  /// The first shard's pairs are the model's; other shards have little more than their place.
  [[nodiscard]] const Metadata& metadata(std::uint32_t shard = 0) const { return parts_[shard].shard.metadata(); }
  /// A pair of the first shard.
  [[nodiscard]] std::optional<Value> find(std::string_view key) const { return metadata().find(key); }

  /// Of all shards.
  [[nodiscard]] std::uint64_t tensor_count() const { return tensor_count_; }
  /// Tensor `index` (below tensor_count()): shard by shard, in the order of each file's table.
  [[nodiscard]] TensorView tensor(std::uint64_t index) const;
  [[nodiscard]] std::optional<std::uint64_t> tensor_index(std::string_view name) const;
  [[nodiscard]] std::optional<TensorView> find_tensor(std::string_view name) const;
  /// The same; LW_ERROR_NOT_FOUND suggests the names nearest to `name`.
  [[nodiscard]] Result<TensorView> require_tensor(std::string_view name) const;

  /// "NAME", or "NAME[i]" for matrix i of a tensor of 3 or 4 dimensions. Errors: LW_ERROR_NOT_FOUND (no such tensor or
  /// matrix), LW_ERROR_ARGUMENT (a tensor of several matrices without an index), LW_ERROR_NOT_A_WEIGHT,
  /// LW_ERROR_UNSUPPORTED (rows of no elements).
  [[nodiscard]] Result<MatrixView> matrix(std::string_view name) const;

  /// NVFP4 models hold one more float scale a tensor beside it: "X.scale" of "X.weight". Products leave it out.
  [[nodiscard]] std::optional<TensorView> companion_scale(const TensorView& tensor) const;

 private:
  struct Part {
    std::string path;
    MappedFile file;
    std::span<const std::uint8_t> bytes;
    Shard shard;
    std::uint64_t first = 0;  // index of its first tensor
  };

  static Result<Part> open_part(const std::string& path, FileAccess access);
  static Result<Model> open_split(Part part, FileAccess access);
  Outcome index_tensors();
  [[nodiscard]] std::uint32_t part_of(std::uint64_t index) const;
  [[nodiscard]] std::string_view name_of(std::uint64_t index) const;
  [[nodiscard]] std::string suggestions(std::string_view name) const;

  std::vector<Part> parts_;
  std::uint64_t tensor_count_ = 0;
  std::unique_ptr<std::uint32_t[]> by_name_;  // indices of tensors, sorted by name
};

}  // namespace lanewise::gguf
