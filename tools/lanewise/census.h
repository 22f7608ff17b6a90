// What a model holds, counted: the facts behind `lanewise info`.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gguf/reader.h"

namespace lanewise::program {

struct FormatCount {
  std::string format;
  bool is_weight = false;
  std::uint64_t tensors = 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
};

/// Tensors of one format and shape.
struct ShapeCount {
  std::string format;
  std::uint64_t cols = 0;  ///< K
  std::uint64_t rows = 0;
  std::uint64_t matrices = 0;  ///< of each tensor
  std::uint32_t dim_count = 0;
  std::uint64_t tensors = 0;
};

/// Matrices that read the same x and share format and K, so that one call can multiply them all.
struct OneCall {
  std::string members;  ///< "attn_q|attn_k"
  std::string format;
  std::uint64_t cols = 0;
  std::string rows;         ///< "1024|256"
  std::uint64_t count = 0;  ///< layers in which they stand
};

/// A set of matrices that read the same x, and how often the file has it whole, in part or not at all in one format.
struct SharedInput {
  std::string members;
  std::uint64_t layers = 0;
  std::uint64_t whole = 0;  ///< all members in one call
};

struct Census {
  std::vector<FormatCount> formats;  ///< most bytes first
  std::vector<ShapeCount> shapes;    ///< by format, then K, then rows
  std::vector<OneCall> one_calls;
  std::vector<SharedInput> shared_inputs;
  std::vector<std::string> not_weights;                               ///< names of tensors of other types
  std::vector<std::pair<std::string, std::string>> companion_scales;  ///< NVFP4 weight, its scale tensor
  std::uint64_t tensors = 0;
  std::uint64_t weights = 0;  ///< elements of weight formats
  std::uint64_t tensor_bytes = 0;
  std::uint64_t file_bytes = 0;  ///< of all shards
};

Census take_census(const gguf::Model& model);

}  // namespace lanewise::program
