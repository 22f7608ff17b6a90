#include "model.h"

#include <fmt/format.h>

#include "output.h"

namespace lanewise::program {

Result<gguf::Model> open_model(const std::string& name) {
  const std::string path = input_path(name);
  auto model = gguf::Model::open(path);
  if (model) {
    note_input(path);
    for (std::uint32_t i = 0; i < model->shard_count(); ++i) note_input(model->shard_path(i));
    return model;
  }
  Error error = std::move(model).error();
  const std::string quoted = "'" + printable(path) + "'";
  if (error.message.find(quoted) == std::string::npos) error.message = quoted + ": " + error.message;
  return error;
}

Result<MatrixView> find_matrix(const gguf::Model& model, std::string_view name) {
  LW_ASSIGN(matrix, model.matrix(name));
  return MatrixView{matrix.format, matrix.rows, matrix.cols, matrix.bytes.data()};
}

void for_each_matrix(const gguf::Model& model,
                     const std::function<bool(const std::string&, const MatrixView&)>& visit) {
  for (std::uint64_t i = 0; i < model.tensor_count(); ++i) {
    const gguf::TensorView tensor = model.tensor(i);
    if (tensor.format == nullptr) continue;
    const std::uint64_t count = tensor.matrices();
    MatrixView view{tensor.format->format, tensor.rows(), tensor.cols(), tensor.bytes.data()};
    for (std::uint64_t j = 0; j < count; ++j) {
      const std::string name(tensor.name);
      if (!visit(count > 1 ? fmt::format("{}[{}]", name, j) : name, view)) return;
      view.data += view.bytes();
    }
  }
}

}  // namespace lanewise::program
