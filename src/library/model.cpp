#include <algorithm>
#include <string>

#include "library/edge.h"
#include "library/handles.h"

namespace {

using namespace lanewise;  // NOLINT(google-build-using-namespace): the C interface stands outside it

Outcome wrap(Result<gguf::Model> opened, lw_model** out) {
  if (!opened) return std::move(opened).error();
  auto handle = std::make_unique<lw_model>();
  handle->model = std::make_shared<const gguf::Model>(std::move(opened).value());
  *out = handle.release();
  return Done{};
}

lw_tensor_info describe(const gguf::TensorView& tensor) {
  lw_tensor_info info = LW_TENSOR_INFO_INIT;
  info.type = tensor.type;
  info.type_name = tensor.type_info->name.data();
  info.name = tensor.name.data();
  info.data = tensor.bytes.data();
  info.bytes = tensor.bytes.size();
  info.dim_count = tensor.dim_count;
  std::ranges::copy(tensor.dims, info.dims);
  info.is_weight = tensor.format != nullptr ? 1 : 0;
  return info;
}

Outcome check(const lw_model* model, const lw_tensor_info* out) {
  if (!edge::is_valid(model)) return edge::argument_error("the model is a null pointer or no open model");
  if (!edge::has_known_size(out)) return edge::argument_error("out is a null pointer or of an unknown struct_size");
  return Done{};
}

}  // namespace

lw_status lw_model_open(const char* path, lw_model** out, lw_error* error) {
  if (out != nullptr) *out = nullptr;
  return edge::guarded(error, [&]() -> Outcome {
    if (path == nullptr || out == nullptr) return edge::argument_error("path or out is a null pointer");
    return wrap(gguf::Model::open(path), out);
  });
}

lw_status lw_model_open_bytes(const void* data, uint64_t bytes, lw_model** out, lw_error* error) {
  if (out != nullptr) *out = nullptr;
  return edge::guarded(error, [&]() -> Outcome {
    if (out == nullptr) return edge::argument_error("out is a null pointer");
    if (data == nullptr && bytes != 0) return edge::argument_error("data is a null pointer");
    return wrap(gguf::Model::open_bytes({static_cast<const std::uint8_t*>(data), bytes}), out);
  });
}

void lw_model_close(lw_model* model) {
  if (edge::is_valid(model)) delete model;
}

uint64_t lw_model_tensor_count(const lw_model* model) {
  return edge::is_valid(model) ? model->model->tensor_count() : 0;
}

lw_status lw_model_tensor(const lw_model* model, uint64_t index, lw_tensor_info* out, lw_error* error) {
  return edge::guarded(error, [&]() -> Outcome {
    LW_TRY(check(model, out));
    if (index >= model->model->tensor_count()) {
      return edge::argument_error("tensor " + std::to_string(index) + " of a model of " +
                                  std::to_string(model->model->tensor_count()));
    }
    edge::fill(out, describe(model->model->tensor(index)));
    return Done{};
  });
}

lw_status lw_model_find(const lw_model* model, const char* name, lw_tensor_info* out, lw_error* error) {
  return edge::guarded(error, [&]() -> Outcome {
    LW_TRY(check(model, out));
    if (name == nullptr) return edge::argument_error("name is a null pointer");
    LW_ASSIGN(tensor, model->model->require_tensor(name));
    edge::fill(out, describe(tensor));
    return Done{};
  });
}
