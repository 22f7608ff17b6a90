#include "arithmetic/activation.h"

#include <string>

#include "base/checked.h"
#include "library/edge.h"
#include "library/handles.h"
#include "library/overlap.h"

namespace {

using namespace lanewise;  // NOLINT(google-build-using-namespace): the C interface stands outside it

Outcome check(const lw_device* device, lw_planes planes) {
  if (!edge::is_valid(device)) return edge::argument_error("the device is a null pointer or no open device");
  if (planes != LW_X8 && planes != LW_X16 && planes != LW_X24) {
    return edge::argument_error(std::to_string(static_cast<std::uint32_t>(planes)) + " planes: 1, 2 or 3");
  }
  return Done{};
}

void keep(lw_activation& handle, std::unique_ptr<Activation> made) { handle.activation = std::move(made); }
void keep(lw_activation& handle, std::unique_ptr<gpu::Image> made) { handle.image = std::move(made); }

template <class Made>
Outcome wrap(const lw_device* device, Result<std::unique_ptr<Made>> made, lw_activation** out) {
  if (!made) return std::move(made).error();
  auto handle = std::make_unique<lw_activation>();
  handle->device_id = device->id;
  handle->stream = device->stream;
  handle->overlapped = device->overlapped;
  keep(*handle, std::move(made).value());
  *out = handle.release();
  return Done{};
}

}  // namespace

lw_status lw_activation_create(lw_device* device, lw_planes planes, uint64_t max_tokens, uint64_t cols,
                               lw_activation** out, lw_error* error) {
  if (out != nullptr) *out = nullptr;
  return edge::guarded(error, [&]() -> Outcome {
    LW_TRY(check(device, planes));
    if (out == nullptr) return edge::argument_error("out is a null pointer");
    const auto kind = static_cast<Planes>(planes);
    if (device->gpu != nullptr) return wrap(device, gpu::Image::create(device->gpu, kind, max_tokens, cols), out);
    return wrap(device, Activation::create(kind, max_tokens, cols), out);
  });
}

lw_status lw_activation_workspace(const lw_device* device, lw_planes planes, uint64_t max_tokens, uint64_t cols,
                                  uint64_t* bytes, lw_error* error) {
  return edge::guarded(error, [&]() -> Outcome {
    LW_TRY(check(device, planes));
    if (bytes == nullptr) return edge::argument_error("bytes is a null pointer");
    const auto kind = static_cast<Planes>(planes);
    LW_ASSIGN(needed, device->gpu != nullptr ? gpu::Image::workspace_bytes(kind, max_tokens, cols)
                                             : Activation::workspace_bytes(kind, max_tokens, cols));
    *bytes = needed;
    return Done{};
  });
}

lw_status lw_activation_create_in(lw_device* device, lw_planes planes, uint64_t max_tokens, uint64_t cols, void* memory,
                                  uint64_t bytes, lw_activation** out, lw_error* error) {
  if (out != nullptr) *out = nullptr;
  return edge::guarded(error, [&]() -> Outcome {
    LW_TRY(check(device, planes));
    if (out == nullptr) return edge::argument_error("out is a null pointer");
    if (!edge::can_be_object(memory, bytes)) {
      return edge::argument_error("the workspace and its bytes pass the end of memory");
    }
    const auto kind = static_cast<Planes>(planes);
    if (device->gpu != nullptr) {
      LW_TRY(wrap(device, gpu::Image::create_in(device->gpu, kind, max_tokens, cols, memory, bytes), out));
    } else {
      LW_TRY(wrap(device, Activation::create_in(kind, max_tokens, cols, memory, bytes), out));
    }
    (*out)->workspace = memory;
    (*out)->workspace_bytes = bytes;
    return Done{};
  });
}

lw_status lw_activation_set(lw_activation* activation, lw_dtype dtype, const void* x, uint64_t tokens, uint64_t stride,
                            lw_error* error) {
  return edge::guarded(error, [&]() -> Outcome {
    if (!edge::is_valid(activation)) {
      return edge::argument_error("the activation is a null pointer or no live activation");
    }
    LW_ASSIGN(kind, edge::check_dtype(dtype));
    const std::uint64_t cols = activation->cols();
    if (tokens != 0) {
      const edge::Strided read{x, cols, stride == 0 ? cols : stride, tokens, kind, "x"};
      LW_ASSIGN(range, edge::bytes_of(read));
      if (edge::overlap(range, edge::whole(activation->workspace, activation->workspace_bytes))) {
        return edge::argument_error("x overlaps the activation's workspace");
      }
    }
    const InputView input{x, kind, tokens, cols, stride};
    if (activation->image != nullptr) {
      LW_TRY(activation->image->set(input, activation->overlapped, activation->stream));
    } else {
      LW_TRY(activation->activation->set(input));
    }
    activation->is_set = true;
    return Done{};
  });
}

void lw_activation_free(lw_activation* activation) {
  if (edge::is_valid(activation)) delete activation;
}

lw_status lw_activation_query(const lw_activation* activation, lw_activation_info* out) {
  if (!edge::is_valid(activation) || !edge::has_known_size(out)) return LW_ERROR_ARGUMENT;
  lw_activation_info info = LW_ACTIVATION_INFO_INIT;
  info.planes = static_cast<lw_planes>(activation->planes());
  info.max_tokens = activation->max_tokens();
  info.cols = activation->cols();
  info.tokens = activation->tokens();
  info.is_set = activation->is_set ? 1 : 0;
  edge::fill(out, info);
  return LW_OK;
}
