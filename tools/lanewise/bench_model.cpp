#include "bench_model.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace lanewise::program {
namespace {

// How many experts of a layer one token is sent to; 0 where the file doesn't say.
std::uint64_t experts_used(const gguf::Model& model) {
  const auto architecture = model.find("general.architecture");
  const auto name = architecture ? architecture->as_string() : std::nullopt;
  if (!name) return 0;
  const auto used = model.find(std::string(*name) + ".expert_used_count");
  return used ? used->as_unsigned().value_or(0) : 0;
}

constexpr std::string_view embedding = "token_embd.weight";
bool is_looked_up(const gguf::Model& model, const gguf::TensorView& tensor) {
  return tensor.name == embedding && model.find_tensor("output.weight").has_value();
}

std::uint64_t passes_with(std::uint64_t used, std::uint64_t matrices) {
  return matrices > 1 && used != 0 ? std::min(used, matrices) : matrices;
}

}  // namespace

std::uint64_t passes_of(const gguf::Model& model, const gguf::TensorView& tensor) {
  if (tensor.format == nullptr || tensor.dim_count < 2 || is_looked_up(model, tensor)) return 0;
  return passes_with(experts_used(model), tensor.matrices());
}

const char* const projection_leaves_out =
    "only the products with weights, each as if alone: no attention over the cache, no norms, no activation functions, "
    "no making of activations, no sampling, no embedding look-up";

ModelShapes shapes_of(const gguf::Model& model) {
  ModelShapes result;
  std::map<std::tuple<Format, std::uint64_t, std::uint64_t>, ModelShape> shapes;
  const std::uint64_t used = experts_used(model);
  bool says_experts = false;
  for (std::uint64_t i = 0; i < model.tensor_count(); ++i) {
    const gguf::TensorView tensor = model.tensor(i);
    if (tensor.format == nullptr || tensor.dim_count < 2 || tensor.rows() == 0) continue;
    if (tensor.name == embedding) {
      if (is_looked_up(model, tensor)) {
        result.notes.emplace_back("token_embd.weight is only looked up in: left out");
        continue;
      }
      result.notes.emplace_back("there is no output.weight: token_embd.weight is timed as the output matrix");
    }
    const std::uint64_t matrices = tensor.matrices();
    const std::uint64_t passes = passes_with(used, matrices);
    if (matrices > 1 && !says_experts) {
      says_experts = true;
      result.notes.push_back(used != 0
                                 ? fmt::format("{} matrices of each expert tensor count, as for one token", used)
                                 : "all matrices of an expert tensor count: the file doesn't say how many are used");
    }
    ModelShape& shape = shapes[{tensor.format->format, tensor.cols(), tensor.rows()}];
    shape = {tensor.format->format, tensor.rows(), tensor.cols(), shape.count + matrices, shape.passes + passes};
  }
  for (const auto& [key, shape] : shapes) result.shapes.push_back(shape);
  return result;
}

std::vector<Projection> project(const std::vector<ModelShape>& shapes, const std::vector<ShapeTime>& times) {
  std::map<std::uint64_t, std::pair<double, std::size_t>> sums;  // tokens: us, shapes found
  for (const ShapeTime& time : times) {
    for (const ModelShape& shape : shapes) {
      const Case& c = time.problem;
      if (c.format != shape.format || c.rows != shape.rows || c.cols != shape.cols) continue;
      auto& [us, found] = sums[c.tokens];
      us += time.us * static_cast<double>(shape.passes);
      ++found;
    }
  }
  std::vector<Projection> list;
  for (const auto& [tokens, sum] : sums) {
    if (sum.second != shapes.size()) continue;
    list.push_back({tokens, sum.first / 1e3, static_cast<double>(tokens) * 1e6 / sum.first});
  }
  return list;
}

}  // namespace lanewise::program
