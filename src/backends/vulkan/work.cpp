// What a Vulkan device computes: the image of x, products, layouts, decoding. Each call records dispatches.
#include <algorithm>
#include <array>
#include <string>

#include "backends/vulkan/device.h"
#include "backends/vulkan/shaders.h"
#include "base/checked.h"
#include "formats/traits.h"
#include "layout/rows16.h"

namespace lanewise::vulkan {
namespace {

constexpr std::uint64_t most_words32 = std::uint64_t{1} << 32;

// The push constants of the shaders, as they declare them.
struct ProductConstants {
  std::uint32_t rows, cols, blocks, row_bytes, w_at, y_at, y_stride, dtype, tokens, groups_x, sums16_at, sums32_at,
      powers_at, exponents_at, poisoned_at, xq_at;
};
struct DecodeConstants {
  std::uint32_t count, w_at, y_at, groups_x;
};
struct ImageConstants {
  std::uint32_t cols, blocks, tokens, slots, planes, dtype, x_at, stride, sums16_at, sums32_at, powers_at, exponents_at,
      poisoned_at, wide_at, groups_x;
};
struct FloatsConstants {
  std::uint32_t blocks, wide_at, xq_at, planes, coarser, groups_x;
};
struct PackConstants {
  std::uint32_t words, rows, row_bytes, block_bytes, lead, from_at, to_at, to_bytes, groups_x;
};
struct ReadConstants {
  std::uint32_t groups, from_at, never, threads;
};

std::uint32_t narrow(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t in_words(std::uint64_t bytes) { return narrow(bytes / 4); }

Error too_large(const std::string& what) {
  return make_error(LW_ERROR_UNSUPPORTED, what + " is larger than this device's shaders can reach at once");
}

// Of weights that read xq: which of it, from how many planes' e, and how much coarser (docs/arithmetic.md, section 6).
struct FloatRule {
  std::uint32_t planes;
  std::uint32_t coarser;
};
constexpr std::array float_rules = {FloatRule{2, 2}, FloatRule{2, 0}, FloatRule{3, 0}};
std::uint32_t floats_index(Format format) { return format == Format::F16 ? 0 : format == Format::BF16 ? 1 : 2; }

// The table that a format's codes are looked up in; none for most.
std::span<const lw_u32> table_of(Format format) {
#define LW_TABLE_0(NAME) std::span<const lw_u32>()
#define LW_TABLE_1(NAME) std::span<const lw_u32>(LW_##NAME##_TABLE)
#define LW_FORMAT(name, NAME, id, elements, bytes, group, dgroup, bits, kind, min, grid) \
  if (format == Format::NAME) return LW_TABLE_##grid(NAME);
#include "formats/formats.def"
#undef LW_FORMAT
#undef LW_TABLE_0
#undef LW_TABLE_1
  return {};
}

}  // namespace

Outcome OpenDevice::bind(Bound& bound) const {
  const Place place = heap_->find(bound.address);
  if (place.left < bound.bytes) {
    return make_error(LW_ERROR_ARGUMENT, "what a kernel is given passes the end of its memory on " + info().id());
  }
  bound.rest = narrow(place.offset % physical_.bound_alignment);
  bound.info = {place.buffer, place.offset - bound.rest, ceil_div(bound.rest + bound.bytes, 4) * 4};
  if (bound.info.range > physical_.most_bound) return too_large("what a kernel is given");
  return Done{};
}

std::optional<OpenDevice::Grid> OpenDevice::grid_of(std::uint64_t groups) const {
  Grid grid;
  grid.x = narrow(std::min<std::uint64_t>(groups, physical_.most_groups[0]));
  const std::uint64_t y = grid.x == 0 ? 0 : ceil_div(groups, grid.x);
  if (y == 0 || y > physical_.most_groups[1]) return std::nullopt;
  grid.y = narrow(y);
  return grid;
}

Outcome OpenDevice::dispatch(const PipelineKey& key, std::span<const Bound> bounds, const void* constants,
                             std::uint32_t bytes, Grid grid, void* stream) {
  LW_ASSIGN(pipeline, pipelines_->get(key));
  std::array<Access, bindings> accesses;
  std::array<VkWriteDescriptorSet, bindings> writes{};
  std::size_t count = 0;
  for (const Bound& bound : bounds) {
    accesses[count] = {bound.address, bound.bytes, bound.writes};
    VkWriteDescriptorSet& write = writes[count++];
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstBinding = bound.binding;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &bound.info;
  }
  LW_ASSIGN(commands, queue_->next(stream, std::span(accesses).first(count)));
  functions_.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  functions_.CmdPushDescriptorSetKHR(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines_->layout(), 0, narrow(count),
                                     writes.data());
  functions_.CmdPushConstants(commands, pipelines_->layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, bytes, constants);
  functions_.CmdDispatch(commands, grid.x, grid.y, grid.z);
  return Done{};
}

Outcome OpenDevice::make_image(const gpu::ImageTask& task, void* stream) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t unit = dtype_bytes(static_cast<Dtype>(task.dtype));
  for (std::uint64_t first = 0; first < task.tokens; first += gpu::image_slice) {
    const std::uint32_t tokens = narrow(std::min<std::uint64_t>(gpu::image_slice, task.tokens - first));
    const std::uint32_t slots = gpu::image_slots(tokens);
    const gpu::ImageOffsets at(slots, task.planes, task.blocks);
    std::uint8_t* const slice = task.image + gpu::image_slice_at(first / gpu::image_slice, task.planes, task.blocks);
    Bound x{static_cast<const std::uint8_t*>(task.x) + first * task.stride * unit,
            ((tokens - 1) * task.stride + task.cols) * unit, false, 2};
    Bound image{slice, at.bytes, true, 3};
    LW_TRY(bind(x));
    LW_TRY(bind(image));
    auto grid = grid_of(task.blocks);
    if (!grid || task.stride >= most_words32 || task.cols >= most_words32) return too_large("x");
    grid->z = slots;
    const ImageConstants constants{narrow(task.cols),
                                   task.blocks,
                                   tokens,
                                   slots,
                                   task.planes,
                                   task.dtype,
                                   narrow(x.rest / unit),
                                   narrow(task.stride),
                                   in_words(at.sums16 + image.rest),
                                   in_words(at.sums32 + image.rest),
                                   in_words(at.powers + image.rest),
                                   in_words(at.exponents + image.rest),
                                   in_words(at.poisoned + image.rest),
                                   in_words(at.x + image.rest),
                                   grid->x};
    // Flags that any workgroup may raise are lowered first.
    std::uint8_t* const poisoned = slice + at.poisoned;
    constexpr std::uint64_t flags = gpu::image_slice * sizeof(std::uint32_t);
    LW_ASSIGN(commands, queue_->next(stream, std::array{Access{poisoned, flags, true}}));
    const Place place = heap_->find(poisoned);
    functions_.CmdFillBuffer(commands, place.buffer, place.offset, flags, 0);
    LW_TRY(dispatch({PipelineKey::image}, std::array{x, image}, &constants, sizeof constants, *grid, stream));
  }
  return Done{};
}

Outcome OpenDevice::make_floats(const gpu::ImageTask& task, std::uint32_t index, void* stream) {
  const std::lock_guard lock(mutex_);
  for (std::uint64_t first = 0; first < task.tokens; first += gpu::image_slice) {
    const std::uint32_t tokens = narrow(std::min<std::uint64_t>(gpu::image_slice, task.tokens - first));
    const std::uint32_t slots = gpu::image_slots(tokens);
    const gpu::ImageOffsets at(slots, task.planes, task.blocks);
    Bound image{task.image + gpu::image_slice_at(first / gpu::image_slice, task.planes, task.blocks), at.bytes, true,
                3};
    LW_TRY(bind(image));
    auto grid = grid_of(task.blocks);
    if (!grid) return too_large("x");
    grid->z = slots;
    const std::uint64_t xq = at.xq + std::uint64_t{index} * slots * task.blocks * super_block * sizeof(float);
    const FloatsConstants constants{task.blocks,
                                    in_words(at.x + image.rest),
                                    in_words(xq + image.rest),
                                    float_rules[index].planes,
                                    float_rules[index].coarser,
                                    grid->x};
    LW_TRY(dispatch({PipelineKey::xq}, std::array{image}, &constants, sizeof constants, *grid, stream));
  }
  return Done{};
}

Outcome OpenDevice::route(const gpu::Routing&, bool, void*) {
  return make_error(LW_ERROR_UNSUPPORTED, info().id() + " has no products with experts yet");
}

Result<const std::uint8_t*> OpenDevice::grid_table(Format format) {
  const std::uint32_t number = format_info(format).id;
  if (const auto found = grids_.find(number); found != grids_.end()) return found->second;
  const std::span<const lw_u32> table = table_of(format);
  LW_ASSIGN(memory, heap_->allocate(table.size_bytes(), 0));
  grids_.emplace(number, memory);
  LW_TRY(copy_locked(memory, table.data(), table.size_bytes()));
  return memory;
}

Outcome OpenDevice::launch_rows(PipelineKey key, const gpu::Launch& what, const gpu::Target& target, Format format,
                                Layout layout, std::uint64_t first, std::uint64_t rows, void* stream) {
  const FormatInfo& info = format_info(format);
  const std::uint64_t row = row_bytes(info, what.cols);
  const std::uint64_t unit = dtype_bytes(static_cast<Dtype>(what.dtype));
  const std::uint32_t slots = gpu::image_slots(what.tokens);
  const gpu::ImageOffsets at(slots, what.planes, what.blocks);
  const std::uint64_t held = layout == Layout::rows16 ? ceil_div(rows, rows16_rows) * rows16_rows : rows;
  std::array<Bound, bindings> bounds{Bound{target.w + first * row, held * row, false, 0},
                                     Bound{what.x, at.bytes, false, 1}, Bound{what.x, at.bytes, false, 2},
                                     Bound{static_cast<std::uint8_t*>(target.y) + first * unit,
                                           ((what.tokens - 1) * target.y_stride + rows) * unit, true, 3}};
  std::size_t count = 4;
  if (info.has_grid) {
    LW_ASSIGN(table, grid_table(format));
    bounds[count++] = {table, table_of(format).size_bytes(), false, 4};
  }
  for (Bound& bound : std::span(bounds).first(count)) LW_TRY(bind(bound));
  const std::uint32_t group_rows = info.is_float() ? 1 : pipelines_->group_size(key) / 8;
  const auto grid = grid_of(ceil_div(rows, group_rows));
  if (!grid || what.cols >= most_words32 || target.y_stride >= most_words32) return too_large("a product");
  const std::uint64_t xq =
      at.xq + std::uint64_t{floats_index(format)} * slots * what.blocks * super_block * sizeof(float);
  const std::uint64_t x_rest = bounds[2].rest;
  const ProductConstants constants{narrow(rows),
                                   narrow(what.cols),
                                   what.blocks,
                                   narrow(row),
                                   bounds[0].rest,
                                   narrow(bounds[3].rest / unit),
                                   narrow(target.y_stride),
                                   what.dtype,
                                   what.tokens,
                                   grid->x,
                                   in_words(at.sums16 + x_rest),
                                   in_words(at.sums32 + x_rest),
                                   in_words(at.powers + x_rest),
                                   in_words(at.exponents + x_rest),
                                   in_words(at.poisoned + x_rest),
                                   in_words(xq + x_rest)};
  return dispatch(key, std::span(bounds).first(count), &constants, sizeof constants, *grid, stream);
}

Outcome OpenDevice::launch(const KernelDesc& kernel, Format format, const gpu::Launch& what, void* stream) {
  const std::lock_guard lock(mutex_);
  PipelineKey key;
  key.kind = PipelineKey::product;
  key.row = static_cast<std::uint8_t>(&kernel - vulkan_kernels().data());
  key.slots = static_cast<std::uint8_t>(gpu::image_slots(what.tokens));
  key.planes = static_cast<std::uint8_t>(what.planes);
  key.format = format_info(format).id;
  if (what.route != nullptr) return make_error(LW_ERROR_UNSUPPORTED, info().id() + " has no products with experts yet");
  const std::uint64_t row = row_bytes(format_info(format), what.cols);
  const std::uint64_t unit_rows = kernel.layout == Layout::rows16 ? rows16_rows : 1;
  // Rows of one binding: as many whole units as lie together and a shader reaches.
  for (std::uint32_t i = 0; i < what.count; ++i) {
    const gpu::Target& target = what.targets[i];
    for (std::uint64_t first = 0; first < target.rows;) {
      const std::uint64_t left = heap_->find(target.w + first * row).left;
      const std::uint64_t most = std::min(left, physical_.most_bound - physical_.bound_alignment);
      const std::uint64_t rows = std::min(most / (unit_rows * row) * unit_rows, target.rows - first);
      if (rows == 0) return too_large("a row");
      LW_TRY(launch_rows(key, what, target, format, kernel.layout, first, rows, stream));
      first += rows;
    }
  }
  return Done{};
}

bool OpenDevice::has_layout(Layout layout, Format format) const {
  return layout == Layout::raw || (layout == Layout::rows16 && lanewise::has_layout(layout, format_info(format)));
}
std::uint64_t OpenDevice::layout_bytes(Layout layout, const MatrixView& shape) const {
  return is_packed_by_host(layout) ? packed_bytes(layout, shape) : 0;
}
std::uint64_t OpenDevice::layout_unit(Layout layout, const MatrixView& shape) const {
  // Of raw ones too: sixteen rows are packed together.
  return layout == Layout::raw || layout == Layout::rows16 ? rows16_tile_bytes(shape.info(), shape.cols) : 0;
}

// Rows of a matrix from one layout to the other, as many at once as both sides hold together.
Outcome OpenDevice::move_words(PipelineKey::Kind kind, const MatrixView& matrix, std::uint64_t rows,
                               const std::uint8_t* from, std::uint8_t* to, void* stream) {
  const std::uint64_t row = matrix.row_bytes();
  const std::uint64_t packed = ceil_div(rows, rows16_rows) * rows16_rows * row;
  const std::uint64_t written = kind == PipelineKey::pack ? packed : rows * row;
  Bound source{from, kind == PipelineKey::pack ? rows * row : packed, false, 0};
  Bound target{to, written, true, 3};
  LW_TRY(bind(source));
  LW_TRY(bind(target));
  PipelineKey key;
  key.kind = kind;
  const std::uint64_t words = ceil_div(written, 4);
  const auto grid = grid_of(ceil_div(words, pipelines_->group_size(key)));
  if (!grid) return too_large("a matrix");
  const PackConstants constants{
      narrow(words), narrow(rows),    narrow(row), matrix.info().block_bytes, rows16_lead(matrix.format), source.rest,
      target.rest,   narrow(written), grid->x};
  return dispatch(key, std::array{source, target}, &constants, sizeof constants, *grid, stream);
}

Outcome OpenDevice::pack(Layout layout, const MatrixView& raw, std::uint8_t* out, void* stream) {
  const std::lock_guard lock(mutex_);
  if (!has_layout(layout, raw.format) || layout == Layout::raw) {
    return make_error(LW_ERROR_UNSUPPORTED, info().id() + " can't pack " + std::string(raw.info().name) +
                                                " into layout " + std::string(layout_name(layout)));
  }
  const std::uint64_t row = raw.row_bytes();
  for (std::uint64_t first = 0; first < raw.rows;) {
    const std::uint64_t together =
        std::min({heap_->find(raw.data + first * row).left, heap_->find(out + first * row).left,
                  physical_.most_bound - physical_.bound_alignment, most_words32 - Heap::alignment});
    // Whole tiles, but for the last rows of all: their tile is there to its end.
    std::uint64_t rows = together / (rows16_rows * row) * rows16_rows;
    if (raw.rows - first < rows16_rows && together >= (raw.rows - first) * row) rows = raw.rows - first;
    rows = std::min(rows, raw.rows - first);
    if (rows == 0) return too_large("sixteen rows");
    LW_TRY(move_words(PipelineKey::pack, raw, rows, raw.data + first * row, out + first * row, stream));
    first += rows;
  }
  return Done{};
}

Outcome OpenDevice::unpack(Layout layout, const MatrixView& packed, std::uint8_t* out, void* stream) {
  const std::lock_guard lock(mutex_);
  if (!has_layout(layout, packed.format) || layout == Layout::raw) {
    return make_error(LW_ERROR_UNSUPPORTED, info().id() + " can't unpack " + std::string(packed.info().name) +
                                                " from layout " + std::string(layout_name(layout)));
  }
  const std::uint64_t row = packed.row_bytes();
  for (std::uint64_t first = 0; first < packed.rows;) {
    const std::uint64_t together =
        std::min({heap_->find(packed.data + first * row).left, heap_->find(out + first * row).left,
                  physical_.most_bound - physical_.bound_alignment, most_words32 - Heap::alignment});
    std::uint64_t rows = together / (rows16_rows * row) * rows16_rows;
    if (packed.rows - first < rows16_rows && together >= (packed.rows - first) * row) rows = packed.rows - first;
    rows = std::min(rows, packed.rows - first);
    if (rows == 0) return too_large("sixteen rows");
    LW_TRY(move_words(PipelineKey::unpack, packed, rows, packed.data + first * row, out + first * row, stream));
    first += rows;
  }
  return Done{};
}

Outcome OpenDevice::dequantize(Format format, const std::uint8_t* w, std::uint64_t elements, float* out, void* stream) {
  const std::lock_guard lock(mutex_);
  const FormatInfo& info = format_info(format);
  PipelineKey key;
  key.kind = PipelineKey::decode;
  key.format = info.id;
  constexpr std::uint64_t most_elements = std::uint64_t{1} << 22;  // 16 MiB: whole blocks of every format
  for (std::uint64_t first = 0; first < elements;) {
    const std::uint8_t* const from = w + first / info.block_elements * info.block_bytes;
    const std::uint64_t blocks = heap_->find(from).left / info.block_bytes;
    const std::uint64_t count = std::min({elements - first, most_elements, blocks * info.block_elements});
    if (count == 0) return make_error(LW_ERROR_ARGUMENT, "blocks to decode are no memory of " + this->info().id());
    Bound source{from, count / info.block_elements * info.block_bytes, false, 0};
    Bound target{out + first, count * sizeof(float), true, 3};
    std::array<Bound, 3> bounds{source, target};
    std::size_t bound = 2;
    if (info.has_grid) {
      LW_ASSIGN(table, grid_table(format));
      bounds[bound++] = {table, table_of(format).size_bytes(), false, 4};
    }
    for (Bound& each : std::span(bounds).first(bound)) LW_TRY(bind(each));
    const std::uint64_t units = info.is_float() ? count : count / 4;
    const auto grid = grid_of(ceil_div(units, pipelines_->group_size(key)));
    if (!grid) return too_large("a matrix");
    const DecodeConstants constants{narrow(units), bounds[0].rest, in_words(bounds[1].rest), grid->x};
    LW_TRY(dispatch(key, std::span(bounds).first(bound), &constants, sizeof constants, *grid, stream));
    first += count;
  }
  return Done{};
}

Outcome OpenDevice::read(const std::uint8_t* from, std::uint64_t bytes, gpu::ReadShape shape, std::uint8_t* sink,
                         void* stream) {
  const std::lock_guard lock(mutex_);
  PipelineKey key;
  key.kind = PipelineKey::read;
  key.slots = static_cast<std::uint8_t>(shape.unroll);
  const std::uint32_t multiprocessors = std::max(1u, info().multiprocessors);
  const std::uint32_t groups = std::min(shape.blocks * multiprocessors, physical_.most_groups[0]);
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t most = (physical_.most_bound - physical_.bound_alignment) / 256 * 256;
    const std::uint64_t part = std::min({bytes - done, most, heap_->find(from + done).left});
    if (part == 0) return make_error(LW_ERROR_ARGUMENT, "what is to be read is no memory of " + info().id());
    Bound source{from + done, part, false, 1};
    Bound target{sink, sizeof(std::uint32_t), true, 3};
    LW_TRY(bind(source));
    LW_TRY(bind(target));
    const ReadConstants constants{narrow(part / 16), narrow(source.rest / 16), 0x9E3779B9u,
                                  groups * pipelines_->group_size(key)};
    LW_TRY(dispatch(key, std::array{source, target}, &constants, sizeof constants, {groups, 1, 1}, stream));
    done += part;
  }
  return Done{};
}

}  // namespace lanewise::vulkan
