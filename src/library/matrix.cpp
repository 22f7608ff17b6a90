#include <sys/mman.h>

#include <algorithm>
#include <string>

#include "backends/cpu/cpu.h"
#include "base/checked.h"
#include "library/edge.h"
#include "library/handles.h"
#include "library/overlap.h"

namespace {

using namespace lanewise;  // NOLINT(google-build-using-namespace): the C interface stands outside it

Outcome check_device(const lw_device* device) {
  if (!edge::is_valid(device)) return edge::argument_error("the device is a null pointer or no open device");
  return Done{};
}

// Copies the matrix to a device with memory of its own, in its layout. The original is needed no more.
Outcome settle_on_gpu(const lw_device& device, lw_matrix& matrix) {
  const FormatInfo& info = matrix.view.info();
  const bool fits = has_layout(device.layout, info) &&
                    (device.layout_is_chosen || device.gpu->has_layout(device.layout, info.format));
  matrix.layout = fits ? device.layout : Layout::raw;
  LW_ASSIGN(memory, gpu::load_matrix(device.gpu, matrix.view, matrix.layout));
  matrix.on_gpu = std::move(memory);
  matrix.held_bytes = matrix.on_gpu.bytes();
  matrix.view.data = matrix.on_gpu.data();
  matrix.model.reset();
  return Done{};
}

// Puts the matrix into the device's layout, with all its threads. The original is needed no more.
Outcome settle(const lw_device& device, lw_matrix& matrix) {
  if (device.gpu != nullptr) return settle_on_gpu(device, matrix);
  matrix.held_bytes = matrix.view.bytes();
  if (!has_layout(device.layout, matrix.view.info()) || device.layout == Layout::raw || matrix.view.rows == 0) {
    return Done{};
  }
  const std::uint64_t bytes = packed_bytes(device.layout, matrix.view);
  matrix.packed = edge::PackedBytes::map(bytes);
  if (matrix.packed.data() == nullptr) {
    return make_error(LW_ERROR_MEMORY, "no memory for a packed matrix of " + std::to_string(bytes) + " bytes");
  }
  struct Call {
    const lw_device& device;
    lw_matrix& matrix;
    std::uint64_t units;
    std::uint32_t parts;
  };
  const std::uint64_t units = pack_units(device.layout, matrix.view.rows);
  Call call{device, matrix, units, static_cast<std::uint32_t>(std::min<std::uint64_t>(units, device.most_parts()))};
  device.run(
      call.parts,
      [](void* context, std::uint32_t part) {
        const Call& mine = *static_cast<const Call*>(context);
        cpu_pack(mine.device.capabilities, mine.device.layout, mine.matrix.view, mine.units * part / mine.parts,
                 mine.units * (part + 1) / mine.parts, mine.matrix.packed.data());
      },
      &call);
  matrix.layout = device.layout;
  matrix.held_bytes = bytes;
  matrix.view.data = matrix.packed.data();
  matrix.model.reset();
  return Done{};
}

}  // namespace

edge::PackedBytes::~PackedBytes() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

edge::PackedBytes edge::PackedBytes::map(std::uint64_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return {nullptr, 0};
  // 2 to 4 % of a product's time (docs/cpu.md); a system without huge pages refuses, which costs just that.
  (void)madvise(data, bytes, MADV_HUGEPAGE);
  return {static_cast<std::uint8_t*>(data), bytes};
}

lw_status lw_matrix_from_tensor(lw_device* device, const lw_model* model, const char* name, lw_matrix** out,
                                lw_error* error) {
  if (out != nullptr) *out = nullptr;
  return edge::guarded(error, [&]() -> Outcome {
    LW_TRY(check_device(device));
    if (!edge::is_valid(model)) return edge::argument_error("the model is a null pointer or no open model");
    if (name == nullptr || out == nullptr) return edge::argument_error("name or out is a null pointer");
    LW_ASSIGN(view, model->model->matrix(name));
    auto matrix = std::make_unique<lw_matrix>();
    matrix->device_id = device->id;
    matrix->view = {view.format, view.rows, view.cols, view.bytes.data()};
    matrix->model = model->model;
    LW_TRY(settle(*device, *matrix));
    *out = matrix.release();
    return Done{};
  });
}

lw_status lw_matrix_from_bytes(lw_device* device, lw_format format, uint64_t rows, uint64_t cols, const void* data,
                               uint64_t bytes, lw_matrix** out, lw_error* error) {
  if (out != nullptr) *out = nullptr;
  return edge::guarded(error, [&]() -> Outcome {
    LW_TRY(check_device(device));
    if (out == nullptr) return edge::argument_error("out is a null pointer");
    const FormatInfo* info = find_format(static_cast<std::uint32_t>(format));
    if (info == nullptr) {
      return edge::argument_error("no format has the number " + std::to_string(static_cast<std::uint32_t>(format)));
    }
    if (cols == 0 || cols % info->block_elements != 0) {
      return edge::argument_error(std::to_string(cols) + " columns are no whole blocks of " +
                                  std::to_string(info->block_elements) + " elements (" + info->name.data() + ")");
    }
    const auto row = checked_mul(cols / info->block_elements, info->block_bytes);
    const auto needed = row ? checked_mul(*row, rows) : row;
    if (!needed || *needed != bytes) {
      return edge::argument_error(std::to_string(bytes) + " bytes given, " + std::to_string(rows) + " x " +
                                  std::to_string(cols) + " weights of " + info->name.data() + " have " +
                                  (needed ? std::to_string(*needed) : "more than 2^64"));
    }
    if (data == nullptr && bytes != 0) return edge::argument_error("data is a null pointer");
    if (!edge::can_be_object(data, bytes)) {
      return edge::argument_error("data and its bytes pass the end of memory");
    }
    auto matrix = std::make_unique<lw_matrix>();
    matrix->device_id = device->id;
    matrix->view = {info->format, rows, cols, static_cast<const std::uint8_t*>(data)};
    LW_TRY(settle(*device, *matrix));
    *out = matrix.release();
    return Done{};
  });
}

void lw_matrix_free(lw_matrix* matrix) {
  if (edge::is_valid(matrix)) delete matrix;
}

lw_status lw_matrix_query(const lw_matrix* matrix, lw_matrix_info* out) {
  if (!edge::is_valid(matrix) || !edge::has_known_size(out)) return LW_ERROR_ARGUMENT;
  lw_matrix_info info = LW_MATRIX_INFO_INIT;
  info.format = static_cast<lw_format>(matrix->view.info().id);
  info.rows = matrix->view.rows;
  info.cols = matrix->view.cols;
  info.bytes = matrix->view.bytes();
  edge::fill(out, info);
  return LW_OK;
}
