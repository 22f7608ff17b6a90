#include "compare_plan.h"

#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench_model.h"
#include "model.h"

namespace lanewise::program {
namespace {

std::string dims_of(const gguf::TensorView& tensor) {
  return fmt::format("{}", fmt::join(tensor.dims.begin(), tensor.dims.begin() + tensor.dim_count, "x"));
}

std::optional<gguf::TensorView> counterpart(ComparedModel& other, const gguf::TensorView& reference) {
  const std::string name(reference.name);
  const auto found = other.model.find_tensor(reference.name);
  if (!found) {
    other.only_in_reference.push_back(name);
  } else if (found->dims != reference.dims) {
    other.other_shape.push_back(fmt::format("{}: {} and {}", name, dims_of(reference), dims_of(*found)));
  } else if (found->format == nullptr) {
    other.not_weights.push_back(name);
  } else {
    return found;
  }
  return std::nullopt;
}

}  // namespace

std::vector<ComparedTensor> plan_comparison(std::vector<ComparedModel>& models, const NamePattern& only) {
  std::vector<ComparedTensor> plan;
  const gguf::Model& reference = models[0].model;
  for (std::uint64_t i = 0; i < reference.tensor_count(); ++i) {
    const gguf::TensorView tensor = reference.tensor(i);
    if (!only.matches(std::string(tensor.name)) || tensor.elements() == 0) continue;
    if (tensor.format == nullptr) {
      models[0].not_weights.emplace_back(tensor.name);
      continue;
    }
    ComparedTensor compared;
    compared.reference = tensor;
    compared.is_vector = tensor.dim_count < 2;
    compared.looked_up = !compared.is_vector && passes_of(reference, tensor) == 0;
    for (std::size_t m = 1; m < models.size(); ++m) compared.others.push_back(counterpart(models[m], tensor));
    plan.push_back(std::move(compared));
  }
  for (std::size_t m = 1; m < models.size(); ++m) {
    for (std::uint64_t i = 0; i < models[m].model.tensor_count(); ++i) {
      const gguf::TensorView tensor = models[m].model.tensor(i);
      if (!only.matches(std::string(tensor.name)) || reference.find_tensor(tensor.name)) continue;
      models[m].only_here.emplace_back(tensor.name);
    }
  }
  return plan;
}

Result<ScaledMatrix> matrix_of(const gguf::Model& model, const gguf::TensorView& tensor, std::uint64_t index) {
  ScaledMatrix matrix{{tensor.format->format, tensor.rows(), tensor.cols(), tensor.bytes.data()}, 1};
  matrix.w.data += index * matrix.w.bytes();
  const auto scale = model.companion_scale(tensor);
  if (!scale) return matrix;
  const bool is_float = scale->format != nullptr && scale->format->format == Format::F32;
  if (!is_float || (scale->elements() != 1 && scale->elements() != tensor.matrices())) {
    return make_error(LW_ERROR_FILE_TENSOR,
                      fmt::format("'{}' should be one F32 number, or one for each matrix of '{}'",
                                  printable(scale->name), printable(tensor.name)),
                      scale->offset);
  }
  float value = 0;
  std::memcpy(&value, scale->bytes.data() + (scale->elements() == 1 ? 0 : index) * sizeof(float), sizeof(float));
  matrix.scale = static_cast<double>(value);
  return matrix;
}

}  // namespace lanewise::program
