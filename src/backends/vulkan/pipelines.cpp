#include "backends/vulkan/pipelines.h"

#include <algorithm>

#include "backends/vulkan/shaders.h"
#include "backends/vulkan/vulkan.h"

namespace lanewise::vulkan {
namespace {

// Constants 0 to 9 of the shaders (shaders/machine.glsl); those that a shader lacks are nothing to it.
struct Constants {
  std::uint32_t group_size = 0;
  std::uint32_t slots = 0;
  std::uint32_t planes = 0;
  std::uint32_t columns = 0;
  std::uint32_t partials = 0;
  std::uint32_t lane_rows = 1;
  std::uint32_t sums = 0;
  std::uint32_t outputs = 0;
  std::uint32_t mins = 0;
  std::uint32_t copies = 32;
};

constexpr unsigned most_threads = 16;

std::string shader_name(const PipelineKey& key) {
  switch (key.kind) {
    case PipelineKey::product:
      return gemv_shader(vulkan_kernels()[key.row], static_cast<Format>(key.format));
    case PipelineKey::decode:
      return "decode_" + std::string(format_info(static_cast<Format>(key.format)).name);
    case PipelineKey::image:
      return "image";
    case PipelineKey::xq:
      return "xq";
    case PipelineKey::pack:
      return "pack";
    case PipelineKey::unpack:
      return "unpack";
    case PipelineKey::read:
      return "read";
    case PipelineKey::route:
      return "route";
    case PipelineKey::reduce:
      return "reduce";
  }
  return {};
}

}  // namespace

std::string to_string(const PipelineKey& key) {
  return shader_name(key) + ":" + std::to_string(key.slots) + ":" + std::to_string(key.planes) + ":" +
         std::to_string(key.lane_rows);
}

Pipelines::~Pipelines() {
  {
    const std::lock_guard lock(making_);
    is_leaving_ = true;
  }
  is_foreseen_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  for (const auto& [key, pipeline] : made_) functions_.DestroyPipeline(device_, pipeline, nullptr);
  if (pool_ != VK_NULL_HANDLE) functions_.DestroyDescriptorPool(device_, pool_, nullptr);
  if (layout_ != VK_NULL_HANDLE) functions_.DestroyPipelineLayout(device_, layout_, nullptr);
  if (set_ != VK_NULL_HANDLE) functions_.DestroyDescriptorSetLayout(device_, set_, nullptr);
}

Outcome Pipelines::open(std::uint32_t sets) {
  std::array<VkDescriptorSetLayoutBinding, bindings> list{};
  for (std::uint32_t i = 0; i < bindings; ++i) {
    list[i].binding = i;
    list[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    list[i].descriptorCount = 1;
    list[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  VkDescriptorSetLayoutCreateInfo set{};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  if (physical_.has_push) set.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
  set.bindingCount = bindings;
  set.pBindings = list.data();
  LW_TRY(check(functions_.CreateDescriptorSetLayout(device_, &set, nullptr, &set_), "making a Vulkan set layout"));
  const VkPushConstantRange constants{VK_SHADER_STAGE_COMPUTE_BIT, 0, most_constants};
  VkPipelineLayoutCreateInfo layout{};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &set_;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &constants;
  LW_TRY(
      check(functions_.CreatePipelineLayout(device_, &layout, nullptr, &layout_), "making a Vulkan pipeline layout"));
  if (physical_.has_push) return Done{};
  const VkDescriptorPoolSize room{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, sets * bindings};
  VkDescriptorPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool.maxSets = sets;
  pool.poolSizeCount = 1;
  pool.pPoolSizes = &room;
  LW_TRY(check(functions_.CreateDescriptorPool(device_, &pool, nullptr, &pool_), "making a pool of Vulkan sets"));
  const std::vector<VkDescriptorSetLayout> layouts(sets, set_);
  sets_.resize(sets);
  VkDescriptorSetAllocateInfo allocate{};
  allocate.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  allocate.descriptorPool = pool_;
  allocate.descriptorSetCount = sets;
  allocate.pSetLayouts = layouts.data();
  return check(functions_.AllocateDescriptorSets(device_, &allocate, sets_.data()), "making Vulkan sets");
}

std::uint32_t Pipelines::group_size(const PipelineKey& key) const {
  if (key.kind == PipelineKey::image || key.kind == PipelineKey::xq) return 64;
  // Float weights: eight eighths, sixteen invocations each.
  if (key.kind == PipelineKey::product && vulkan_kernels()[key.row].formats == FormatClass::FLOATS) return 128;
  return physical_.group_size;
}

Result<VkPipeline> Pipelines::get(const PipelineKey& key) {
  {
    std::unique_lock lock(making_);
    std::erase(foreseen_, key);
    is_made_.wait(lock, [&] { return std::ranges::find(being_made_, key) == being_made_.end(); });
    if (const auto found = made_.find(key); found != made_.end()) return found->second;
  }
  LW_ASSIGN(pipeline, make(key));
  const std::lock_guard lock(making_);
  made_.emplace(key, pipeline);
  return pipeline;
}

void Pipelines::foresee(std::span<const PipelineKey> keys) {
  const std::lock_guard lock(making_);
  for (const PipelineKey& key : keys) {
    if (!made_.contains(key)) foreseen_.push_back(key);
  }
  const std::size_t most = std::clamp(std::thread::hardware_concurrency(), 1U, most_threads);
  while (threads_.size() < most && !foreseen_.empty() && threads_.size() < foreseen_.size() + being_made_.size()) {
    threads_.emplace_back([this] { work(); });
  }
  is_foreseen_.notify_all();
}

// A thread's life: until the pipelines are given up.
void Pipelines::work() {
  std::unique_lock lock(making_);
  for (;;) {
    is_foreseen_.wait(lock, [&] { return is_leaving_ || !foreseen_.empty(); });
    if (is_leaving_) return;
    const PipelineKey key = foreseen_.front();
    foreseen_.pop_front();
    if (made_.contains(key) || std::ranges::find(being_made_, key) != being_made_.end()) continue;
    being_made_.push_back(key);
    lock.unlock();
    auto pipeline = make(key);
    lock.lock();
    // One that can't be made is tried again, and its error said, when it is asked for.
    if (pipeline) made_.emplace(key, *pipeline);
    std::erase(being_made_, key);
    is_made_.notify_all();
  }
}

std::string Pipelines::shader_of(const PipelineKey& key) const {
  const bool spoiled =
      !spoiled_.empty() && key.kind == PipelineKey::product && vulkan_kernels()[key.row].name == spoiled_;
  return spoiled ? spoiled_by_ : shader_name(key);
}

std::string Pipelines::fingerprint(const PipelineKey& key) const {
  // FNV-1a of the words that the driver is given.
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const std::uint32_t word : with_float_controls(find_shader(shader_of(key)), physical_.controls)) {
    hash = (hash ^ word) * 0x100000001B3ULL;
  }
  return to_string(key) + ":" + std::to_string(group_size(key)) + ":" + std::to_string(hash);
}

Result<VkPipeline> Pipelines::make(const PipelineKey& key) const {
  const std::string name = shader_of(key);
  const std::span<const std::uint32_t> shader = find_shader(name);
  if (shader.empty()) return make_error(LW_ERROR_UNSUPPORTED, "this build has no Vulkan shader '" + name + "'");
  const std::string what = "making the Vulkan pipeline " + to_string(key);
  const std::vector<std::uint32_t> words = with_float_controls(shader, physical_.controls);
  VkShaderModuleCreateInfo module_info{};
  module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module_info.codeSize = words.size() * sizeof(std::uint32_t);
  module_info.pCode = words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  LW_TRY(check(functions_.CreateShaderModule(device_, &module_info, nullptr, &module), what));

  Constants constants;
  constants.group_size = group_size(key);
  constants.slots = key.slots;
  constants.planes = key.planes;
  constants.columns = std::uint32_t{key.slots} * key.planes;
  constants.lane_rows = key.lane_rows;
  constants.sums = constants.lane_rows * constants.columns;
  constants.outputs = constants.lane_rows * key.slots;
  constants.partials = constants.group_size * std::min(constants.outputs, 8U);
  constants.mins = constants.outputs * (key.planes == 3 ? 3 : 1);
  // A copy takes 1 KiB, beside the chains. Every device has 16 KiB.
  const std::uint32_t chains = constants.partials * static_cast<std::uint32_t>(sizeof(float));
  while (constants.copies > 1 && constants.copies * 1024 + chains > physical_.info.shared_bytes) constants.copies /= 2;
  std::array<VkSpecializationMapEntry, 10> entries{};
  for (std::uint32_t i = 0; i < entries.size(); ++i) entries[i] = {i, i * 4, 4};
  const VkSpecializationInfo specialisation{static_cast<std::uint32_t>(entries.size()), entries.data(),
                                            sizeof constants, &constants};
  VkComputePipelineCreateInfo create{};
  create.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  create.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  create.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  create.stage.module = module;
  create.stage.pName = "main";
  create.stage.pSpecializationInfo = &specialisation;
  create.layout = layout_;
  VkPipeline pipeline = VK_NULL_HANDLE;
  Outcome made =
      check(functions_.CreateComputePipelines(device_, VK_NULL_HANDLE, 1, &create, nullptr, &pipeline), what);
  functions_.DestroyShaderModule(device_, module, nullptr);
  if (!made) return std::move(made).error();
  return pipeline;
}

}  // namespace lanewise::vulkan
