// Which tensors of which files are compared, and which can't be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare_measure.h"
#include "gguf/reader.h"
#include "selection.h"

namespace lanewise::program {

/// A model beside the reference, and its tensors that have no counterpart.
struct ComparedModel {
  std::string path;
  gguf::Model model;
  std::vector<std::string> only_in_reference;
  std::vector<std::string> only_here;
  std::vector<std::string> other_shape;  ///< "NAME: 640x2048 and 640x1024"
  std::vector<std::string> not_weights;  ///< of a type that is no weight format, here or in the reference
};

/// A tensor of the reference and those of its name and shape; none in files that lack it.
struct ComparedTensor {
  gguf::TensorView reference;
  std::vector<std::optional<gguf::TensorView>> others;  ///< one a file
  bool is_vector = false;                               ///< of one dimension: weights alone are compared
  bool looked_up = false;                               ///< a token embedding that no x is multiplied by
};

/// `models[0]` is the reference. Tensors whose name `only` doesn't match have no part anywhere.
std::vector<ComparedTensor> plan_comparison(std::vector<ComparedModel>& models, const NamePattern& only);

/// Matrix `index` of a tensor with its scale, where its model keeps one. Errors: a scale that is no F32 of one element
/// or of one a matrix.
Result<ScaledMatrix> matrix_of(const gguf::Model& model, const gguf::TensorView& tensor, std::uint64_t index);

}  // namespace lanewise::program
