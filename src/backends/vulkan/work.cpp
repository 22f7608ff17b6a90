// What a Vulkan device computes: the image of x, products, layouts, decoding. Each call records dispatches.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <string>

#include "backends/vulkan/device.h"
#include "backends/vulkan/shaders.h"
#include "base/checked.h"
#include "formats/traits.h"
#include "layout/rows16.h"

namespace lanewise::vulkan {
namespace {

// Experts a token that a slice's route has room for, behind its first word.
constexpr std::uint32_t most_used = 256;
static_assert(sizeof(std::uint32_t) * (1 + std::uint64_t{gpu::image_slice} * most_used) <= sizeof(gpu::Route));
constexpr std::uint64_t most_words32 = std::uint64_t{1} << 32;

// The push constants of the shaders, as they declare them.
struct ProductConstants {
  std::uint32_t rows, cols, blocks, row_bytes, w_at, y_at, y_stride, dtype, tokens, groups_x, sums16_at, sums32_at,
      powers_at, exponents_at, poisoned_at, xq_at, used, expert, route_at, eighths, lane_bits;
};
static_assert(sizeof(ProductConstants) <= most_constants);
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
  std::uint32_t words, rows, row_bytes, block_bytes, lead, run, from_at, to_at, to_bytes, groups_x;
};
struct RouteConstants {
  std::uint32_t tokens, used, experts, ids_at, routes_at, stride;
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

// Invocations that share an eighth of a row: one a chain, of float weights one for four.
std::uint32_t invocations_of_an_eighth(const FormatInfo& info) {
  if (info.is_float()) return 16;
  return std::min<std::uint32_t>(4, narrow(super_block) / info.dgroup);
}

std::uint32_t split_of(const gpu::Launch& what) { return what.tile[0] == 0 ? 1 : what.tile[0]; }

// Of a row among workgroups.
constexpr std::array<gpu::Tiling, 4> splits = {{{1, 0, 0, 0}, {2, 0, 0, 0}, {4, 0, 0, 0}, {8, 0, 0, 0}}};

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
                             std::uint32_t bytes, Grid grid, void* stream, bool apart) {
  if (stream != nullptr && !physical_.has_push) {
    return make_error(LW_ERROR_UNSUPPORTED, info().id() +
                                                " lacks push descriptors (VK_KHR_push_descriptor), without "
                                                "which nothing is recorded into others' command buffers");
  }
  LW_ASSIGN(pipeline, pipelines_->get(key));
  std::array<Access, bindings> accesses;
  std::array<VkWriteDescriptorSet, bindings> writes{};
  std::size_t count = 0;
  std::size_t touched = 0;
  for (const Bound& bound : bounds) {
    if (!apart || !bound.writes) accesses[touched++] = {bound.address, bound.bytes, bound.writes};
    VkWriteDescriptorSet& write = writes[count++];
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstBinding = bound.binding;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &bound.info;
  }
  LW_ASSIGN(commands, queue_->next(stream, std::span(accesses).first(touched), apart));
  functions_.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  if (physical_.has_push) {
    functions_.CmdPushDescriptorSetKHR(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines_->layout(), 0, narrow(count),
                                       writes.data());
  } else {
    // A set for each place in a batch: the command that last stood there has ended.
    VkDescriptorSet set = pipelines_->set(queue_->place());
    for (VkWriteDescriptorSet& write : std::span(writes).first(count)) write.dstSet = set;
    functions_.UpdateDescriptorSets(device_, narrow(count), writes.data(), 0, nullptr);
    functions_.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines_->layout(), 0, 1, &set, 0,
                                     nullptr);
  }
  functions_.CmdPushConstants(commands, pipelines_->layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, bytes, constants);
  functions_.CmdDispatch(commands, grid.x, grid.y, grid.z);
  return Done{};
}

Outcome OpenDevice::make_image(const gpu::ImageTask& task, void* stream) {
  const std::lock_guard lock(mutex_);
  return image_locked(task, stream);
}

Outcome OpenDevice::make_floats(const gpu::ImageTask& task, std::uint32_t index, void* stream) {
  const std::lock_guard lock(mutex_);
  return floats_locked(task, index, stream);
}

Outcome OpenDevice::image_locked(const gpu::ImageTask& task, void* stream) {
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

Outcome OpenDevice::floats_locked(const gpu::ImageTask& task, std::uint32_t index, void* stream) {
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

Outcome OpenDevice::route(const gpu::Routing& routing, bool, void* stream) {
  const std::lock_guard lock(mutex_);
  if (routing.tokens == 0 || routing.used == 0) return Done{};
  const std::uint64_t all = routing.tokens * routing.used;
  if (routing.used > most_used || all >= most_words32) {
    return make_error(LW_ERROR_UNSUPPORTED, std::to_string(routing.used) + " experts a token, more than the " +
                                                std::to_string(most_used) + " that " + info().id() + " takes");
  }
  auto& kept = routings_[routing.routes];
  if (kept == nullptr) kept = std::make_unique<gpu::Routing>();
  *kept = routing;
  Bound ids{routing.ids, all * sizeof(std::int32_t), false, 2};
  Bound routes{routing.routes, ceil_div(routing.tokens, gpu::image_slice) * sizeof(gpu::Route), true, 3};
  LW_TRY(bind(ids));
  LW_TRY(bind(routes));
  const RouteConstants constants{narrow(routing.tokens), routing.used,          routing.experts,
                                 in_words(ids.rest),     in_words(routes.rest), in_words(sizeof(gpu::Route))};
  return dispatch({PipelineKey::route}, std::array{ids, routes}, &constants, sizeof constants, {1, 1, 1}, stream);
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

Outcome OpenDevice::launch_rows(const PipelineKey& key, const gpu::Launch& what, const gpu::Target& target,
                                Format format, Layout layout, std::uint64_t first, std::uint64_t rows,
                                const Expert* expert, void* stream) {
  const FormatInfo& info = format_info(format);
  const std::uint64_t row = row_bytes(info, what.cols);
  const std::uint64_t unit = dtype_bytes(static_cast<Dtype>(what.dtype));
  const std::uint32_t slots = gpu::image_slots(what.tokens);
  const std::uint32_t split = split_of(what);
  const gpu::ImageOffsets at(slots, what.planes, what.blocks);
  const std::uint64_t vectors = std::uint64_t{what.tokens} * (expert != nullptr ? what.used : 1);
  const std::uint64_t held = layout == Layout::rows16 ? ceil_div(rows, rows16_rows) * rows16_rows : rows;
  const std::uint64_t scratch = std::uint64_t{8} * slots * rows * sizeof(float);
  Bound y{static_cast<std::uint8_t*>(target.y) + first * unit, ((vectors - 1) * target.y_stride + rows) * unit, true,
          3};
  LW_TRY(bind(y));
  std::array<Bound, bindings> bounds{Bound{target.w + first * row, held * row, false, 0},
                                     Bound{what.x, at.bytes, false, 1}, Bound{what.x, at.bytes, false, 2},
                                     split == 1 ? y : Bound{scratch_, scratch, true, 3}};
  std::size_t count = 4;
  const std::uint64_t route_bytes = sizeof(std::uint32_t) * (1 + std::uint64_t{what.tokens} * what.used);
  bounds[count++] = expert != nullptr ? Bound{what.route, route_bytes, false, 5} : Bound{what.x, 4, false, 5};
  if (info.has_grid) {
    LW_ASSIGN(table, grid_table(format));
    bounds[count++] = {table, table_of(format).size_bytes(), false, 4};
  }
  for (Bound& bound : std::span(bounds).first(count)) LW_TRY(bind(bound));
  // A workgroup has all chains of its eighths of some rows.
  const std::uint32_t lanes = pipelines_->group_size(key) / (8 / split * invocations_of_an_eighth(info));
  auto grid = grid_of(ceil_div(rows, std::uint64_t{lanes} * key.lane_rows));
  if (!grid || what.cols >= most_words32 || target.y_stride >= most_words32) return too_large("a product");
  grid->z = split;
  const std::uint64_t xq =
      at.xq + std::uint64_t{floats_index(format)} * slots * what.blocks * super_block * sizeof(float);
  const std::uint64_t x_rest = bounds[2].rest;
  ProductConstants constants{narrow(rows),
                             narrow(what.cols),
                             what.blocks,
                             narrow(row),
                             bounds[0].rest,
                             narrow(split == 1 ? y.rest / unit : bounds[3].rest / sizeof(float)),
                             narrow(target.y_stride),
                             what.dtype,
                             what.tokens,
                             grid->x,
                             in_words(at.sums16 + x_rest),
                             in_words(at.sums32 + x_rest),
                             in_words(at.powers + x_rest),
                             in_words(at.exponents + x_rest),
                             in_words(at.poisoned + x_rest),
                             in_words(xq + x_rest),
                             expert != nullptr ? what.used : 0,
                             expert != nullptr ? expert->number : 0,
                             in_words(bounds[4].rest),
                             8 / split,
                             static_cast<std::uint32_t>(std::countr_zero(lanes))};
  const bool apart = split == 1 && expert != nullptr && !expert->first;
  LW_TRY(dispatch(key, std::span(bounds).first(count), &constants, sizeof constants, *grid, stream, apart));
  if (split == 1) return Done{};

  PipelineKey reduce;
  reduce.kind = PipelineKey::reduce;
  reduce.slots = key.slots;
  const auto outputs = grid_of(ceil_div(rows * what.tokens, pipelines_->group_size(reduce)));
  if (!outputs) return too_large("a product");
  constants.w_at = bounds[3].rest;
  constants.y_at = narrow(y.rest / unit);
  constants.groups_x = outputs->x;
  bounds[0] = bounds[3];
  bounds[0].writes = false;
  bounds[0].binding = 0;
  bounds[3] = y;
  return dispatch(reduce, std::span(bounds).first(5), &constants, sizeof constants, *outputs, stream);
}

// More rows an invocation share each load of x, and leave fewer invocations; all chains of them are registers.
std::uint32_t OpenDevice::lane_rows(const FormatInfo& info, const gpu::Launch& what, std::uint64_t rows) const {
  if (what.tile[1] != 0) return what.tile[1];
  if (physical_.lane_rows != 0) return physical_.lane_rows;
  if (physical_.is_processor) return 1;
  const std::uint32_t slots = gpu::image_slots(what.tokens);
  if (info.is_float()) return slots == 8 ? 2 : 4;
  if (info.dgroup < super_block) return 4;
  constexpr std::uint64_t many = 32768;
  if (slots == 1) return rows >= many ? 2 : 1;
  return slots == 8 && rows >= many ? 4 : 2;
}

PipelineKey OpenDevice::key_of(const KernelDesc& kernel, Format format, const gpu::Launch& what) const {
  PipelineKey key;
  key.kind = PipelineKey::product;
  key.row = static_cast<std::uint8_t>(&kernel - vulkan_kernels().data());
  key.slots = static_cast<std::uint8_t>(gpu::image_slots(what.tokens));
  key.planes = static_cast<std::uint8_t>(what.planes);
  key.format = format_info(format).id;
  std::uint64_t rows = 0;
  for (std::uint32_t i = 0; i < what.count; ++i) rows += what.targets[i].rows;
  key.lane_rows = static_cast<std::uint8_t>(lane_rows(format_info(format), what, rows));
  return key;
}

void OpenDevice::foresee(const KernelDesc& kernel, Format format, std::span<const Planes> planes,
                         std::span<const std::uint64_t> tokens) {
  if ((kernel.needs & ~info().capabilities) != 0 || !is_built(kernel, format)) return;
  std::vector<PipelineKey> keys;
  for (const Planes each : planes) {
    for (const std::uint64_t window : tokens) {
      // Of a window of more than a slice: whole slices, and the rest.
      for (const std::uint64_t slice : {std::min<std::uint64_t>(window, gpu::image_slice), window % gpu::image_slice}) {
        if (slice == 0) continue;
        gpu::Launch what;
        what.tokens = narrow(slice);
        what.planes = plane_count(each);
        const PipelineKey key = key_of(kernel, format, what);
        if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
      }
    }
  }
  pipelines_->foresee(keys);
}

Result<const KernelDesc*> OpenDevice::stands_in(const KernelDesc& kernel, Format format, const gpu::Launch& what) {
  const std::lock_guard lock(mutex_);
  LW_ASSIGN(right, right_row(key_of(kernel, format, what), format));
  return &vulkan_kernels()[right];
}

Outcome OpenDevice::launch(const KernelDesc& kernel, Format format, const gpu::Launch& what, void* stream) {
  const std::lock_guard lock(mutex_);
  PipelineKey key = key_of(kernel, format, what);
  LW_ASSIGN(right, right_row(key, format));
  key.row = right;
  const gpu::Routing* routing = nullptr;
  if (what.route != nullptr) {
    auto found = routings_.upper_bound(what.route);
    if (found == routings_.begin()) return make_error(LW_ERROR_INTERNAL, "experts without a route");
    routing = std::prev(found)->second.get();
  }
  for (std::uint32_t i = 0; i < what.count; ++i) {
    if (routing == nullptr) {
      LW_TRY(launch_target(key, what, what.targets[i], format, kernel.layout, nullptr, stream));
      continue;
    }
    // A dispatch an expert, which ends at once where no token of the slice has it.
    for (std::uint32_t number = 0; number < routing->experts; ++number) {
      gpu::Target target = what.targets[i];
      target.w = routing->w[i][number];
      const Expert expert{number, number == 0};
      LW_TRY(launch_target(key, what, target, format, kernel.layout, &expert, stream));
    }
  }
  return Done{};
}

// Rows of one binding at once: as many whole units as lie together and a shader reaches.
Outcome OpenDevice::launch_target(const PipelineKey& key, const gpu::Launch& what, const gpu::Target& target,
                                  Format format, Layout layout, const Expert* expert, void* stream) {
  const std::uint64_t row = row_bytes(format_info(format), what.cols);
  const std::uint64_t unit_rows = layout == Layout::rows16 ? rows16_rows : 1;
  for (std::uint64_t first = 0; first < target.rows;) {
    const std::uint64_t left = heap_->find(target.w + first * row).left;
    const std::uint64_t most = std::min(left, physical_.most_bound - physical_.bound_alignment);
    std::uint64_t rows = std::min(most / (unit_rows * row) * unit_rows, target.rows - first);
    if (split_of(what) > 1) {
      rows = std::min(rows, scratch_bytes_ / (std::uint64_t{8} * key.slots * sizeof(float)) / unit_rows * unit_rows);
    }
    if (rows == 0) return too_large("a row");
    LW_TRY(launch_rows(key, what, target, format, layout, first, rows, expert, stream));
    first += rows;
  }
  return Done{};
}

std::span<const gpu::Tiling> OpenDevice::tilings(const KernelDesc& /*kernel*/) const { return splits; }

bool OpenDevice::takes_tiling(const KernelDesc& /*kernel*/, const gpu::Tiling& t) const {
  const auto is_power = [](std::uint32_t value, std::uint32_t most) {
    return value <= most && (value & (value - 1)) == 0;
  };
  return is_power(t[0], 8) && is_power(t[1], 4) && t[2] == 0 && t[3] == 0;
}

Result<bool> OpenDevice::test(const PipelineKey& key, Format format) {
  const KernelDesc& kernel = vulkan_kernels()[key.row];
  const auto planes = static_cast<Planes>(key.planes);
  const KnownProduct known(format, kernel.layout, planes, key.slots == 1 ? 1 : key.slots - 1U);
  const std::uint64_t image_bytes = gpu::image_bytes(known.tokens, key.planes, KnownProduct::cols / super_block);
  const std::uint64_t y_bytes = known.y.size() * sizeof(float);
  std::array<std::uint8_t*, 4> memory{};  // W, x, its image, y
  const std::array<std::uint64_t, 4> sizes{known.packed.size(), known.x.size() * sizeof(float), image_bytes, y_bytes};
  std::vector<float> got(known.y.size());
  bool is_same = true;
  const auto run = [&]() -> Outcome {
    for (std::size_t i = 0; i < memory.size(); ++i) {
      LW_ASSIGN(made, heap_->allocate(sizes[i], 0));
      memory[i] = made;
    }
    LW_TRY(copy_locked(memory[0], known.packed.data(), sizes[0]));
    LW_TRY(copy_locked(memory[1], known.x.data(), sizes[1]));
    gpu::ImageTask task;
    task.x = memory[1];
    task.tokens = known.tokens;
    task.cols = KnownProduct::cols;
    task.stride = KnownProduct::cols;
    task.planes = key.planes;
    task.blocks = KnownProduct::cols / super_block;
    task.image = memory[2];
    LW_TRY(image_locked(task, nullptr));
    if (format_info(format).is_float()) LW_TRY(floats_locked(task, floats_index(format), nullptr));
    gpu::Launch what;
    what.x = memory[2];
    what.tokens = narrow(known.tokens);
    what.planes = key.planes;
    what.cols = KnownProduct::cols;
    what.blocks = task.blocks;
    const gpu::Target target{memory[0], memory[3], KnownProduct::rows, KnownProduct::rows};
    // Rows that are whole, and rows that are split, which another shader folds.
    for (const std::uint32_t split : {1U, 8U}) {
      what.tile[0] = split;
      // What no product gives: an output that isn't written is seen.
      std::ranges::fill(got, -0.0F);
      LW_TRY(copy_locked(memory[3], got.data(), y_bytes));
      LW_TRY(launch_rows(key, what, target, format, kernel.layout, 0, KnownProduct::rows, nullptr, nullptr));
      LW_TRY(copy_locked(got.data(), memory[3], y_bytes));
      is_same = is_same && std::memcmp(got.data(), known.y.data(), y_bytes) == 0;
    }
    return Done{};
  };
  const Outcome outcome = run();
  (void)finish();
  for (std::uint8_t* const each : memory) {
    if (each != nullptr) heap_->release(each);
  }
  if (!outcome) return outcome.error();
  return is_same;
}

Result<bool> OpenDevice::is_right(const PipelineKey& key, Format format) {
  if (const auto found = right_.find(key); found != right_.end()) return found->second;
  const std::string name = pipelines_->fingerprint(key);
  bool right = false;
  if (const bool* const known = overrides_.forgetful ? nullptr : verdicts_.find(name); known != nullptr) {
    right = *known;
  } else {
    LW_ASSIGN(tested, test(key, format));
    right = tested;
    if (!overrides_.forgetful) verdicts_.add(name, right);
  }
  right_.emplace(key, right);
  if (!right) {
    warnings_.push_back("kernel '" + std::string(vulkan_kernels()[key.row].name) + "' for " +
                        std::string(format_info(format).name) + " gives wrong bits on " + info().id() + " (" +
                        to_string(key) + "): the next best takes its place");
  }
  return right;
}

Result<std::uint8_t> OpenDevice::right_row(PipelineKey key, Format format) {
  const std::span<const KernelDesc> table = vulkan_kernels();
  const KernelDesc& asked = table[key.row];
  for (; key.row < table.size(); ++key.row) {
    const KernelDesc& kernel = table[key.row];
    if (kernel.layout != asked.layout || kernel.formats != asked.formats) continue;
    if ((kernel.needs & ~info().capabilities) != 0 || !is_built(kernel, format)) continue;
    LW_ASSIGN(right, is_right(key, format));
    if (right) return key.row;
  }
  return make_error(LW_ERROR_UNSUPPORTED, "no kernel for " + std::string(format_info(format).name) + " in layout " +
                                              std::string(layout_name(asked.layout)) + " gives the right bits on " +
                                              info().id() + " from '" + std::string(asked.name) + "' on");
}

std::vector<std::string> OpenDevice::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_;
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
  const PackConstants constants{narrow(words),
                                narrow(rows),
                                narrow(row),
                                matrix.info().block_bytes,
                                rows16_lead(matrix.format),
                                rows16_run(matrix.info().block_elements, matrix.info().block_bytes),
                                source.rest,
                                target.rest,
                                narrow(written),
                                grid->x};
  return dispatch(key, std::array{source, target}, &constants, sizeof constants, *grid, stream);
}

// All rows of a matrix, as many whole tiles at a time as lie together on both sides.
Outcome OpenDevice::move_tiles(PipelineKey::Kind kind, const MatrixView& matrix, std::uint8_t* out, void* stream) {
  const std::uint64_t row = matrix.row_bytes();
  for (std::uint64_t first = 0; first < matrix.rows;) {
    const std::uint64_t together =
        std::min({heap_->find(matrix.data + first * row).left, heap_->find(out + first * row).left,
                  physical_.most_bound - physical_.bound_alignment, most_words32 - Heap::alignment});
    // Whole tiles, but for the last rows of all: their tile is there to its end.
    std::uint64_t rows = together / (rows16_rows * row) * rows16_rows;
    if (matrix.rows - first < rows16_rows && together >= (matrix.rows - first) * row) rows = matrix.rows - first;
    rows = std::min(rows, matrix.rows - first);
    if (rows == 0) return too_large("sixteen rows");
    LW_TRY(move_words(kind, matrix, rows, matrix.data + first * row, out + first * row, stream));
    first += rows;
  }
  return Done{};
}

Outcome OpenDevice::pack(Layout layout, const MatrixView& raw, std::uint8_t* out, void* stream) {
  const std::lock_guard lock(mutex_);
  if (!has_layout(layout, raw.format) || layout == Layout::raw) {
    return make_error(LW_ERROR_UNSUPPORTED, info().id() + " can't pack " + std::string(raw.info().name) +
                                                " into layout " + std::string(layout_name(layout)));
  }
  return move_tiles(PipelineKey::pack, raw, out, stream);
}

Outcome OpenDevice::unpack(Layout layout, const MatrixView& packed, std::uint8_t* out, void* stream) {
  const std::lock_guard lock(mutex_);
  if (!has_layout(layout, packed.format) || layout == Layout::raw) {
    return make_error(LW_ERROR_UNSUPPORTED, info().id() + " can't unpack " + std::string(packed.info().name) +
                                                " from layout " + std::string(layout_name(layout)));
  }
  return move_tiles(PipelineKey::unpack, packed, out, stream);
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
