// A model's weights as shapes to time, and what their times come to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gguf/reader.h"
#include "harness/case.h"

namespace lanewise::program {

/// Matrices of one format and shape.
struct ModelShape {
  Format format;
  std::uint64_t rows;
  std::uint64_t cols;
  std::uint64_t count;   ///< in the file
  std::uint64_t passes;  ///< read for one window of one token; at most `count`: of experts, those that are used
};

struct ModelShapes {
  std::vector<ModelShape> shapes;
  std::vector<std::string> notes;
};

/// How many of a tensor's matrices are read for one window of one token: of experts, those that are used; none of a
/// vector, of what is no weight, and of a token embedding that is only looked up in.
std::uint64_t passes_of(const gguf::Model& model, const gguf::TensorView& tensor);

/// Tensors of two dimensions and more, but a token embedding that is only looked up in.
ModelShapes shapes_of(const gguf::Model& model);

/// A product's time.
struct ShapeTime {
  Case problem;
  double us;
};

/// Tokens a second where every matrix takes the median measured for its shape; one entry a window that every shape was
/// timed in, cold.
struct Projection {
  std::uint64_t tokens;
  double milliseconds;  ///< all matrices, once
  double tokens_per_second;
};
std::vector<Projection> project(const std::vector<ModelShape>& shapes, const std::vector<ShapeTime>& times);
/// What a projection leaves out, for a person.
extern const char* const projection_leaves_out;

}  // namespace lanewise::program
