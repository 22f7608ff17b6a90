#include "backends/vulkan/spirv.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace lanewise::vulkan {
namespace {

// Of the SPIR-V specification and SPV_KHR_float_controls.
constexpr std::uint32_t op_extension = 10;
constexpr std::uint32_t op_entry_point = 15;
constexpr std::uint32_t op_execution_mode = 16;
constexpr std::uint32_t op_capability = 17;
constexpr std::size_t header_words = 5;

struct Mode {
  std::uint32_t capability;
  std::uint32_t mode;
};
constexpr Mode subnormals{4464, 4459};
constexpr Mode specials{4466, 4461};
constexpr Mode to_even{4467, 4462};

void append(std::vector<std::uint32_t>& words, std::uint32_t op, std::span<const std::uint32_t> operands) {
  words.push_back(static_cast<std::uint32_t>(operands.size() + 1) << 16 | op);
  words.insert(words.end(), operands.begin(), operands.end());
}

}  // namespace

std::vector<std::uint32_t> with_float_controls(std::span<const std::uint32_t> module, const FloatControls& controls) {
  std::vector<Mode> modes;
  if (controls.keep_subnormals) modes.push_back(subnormals);
  if (controls.keep_specials) modes.push_back(specials);
  if (controls.round_to_even) modes.push_back(to_even);
  std::vector<std::uint32_t> out(module.begin(),
                                 module.begin() + static_cast<std::ptrdiff_t>(std::min(header_words, module.size())));
  if (modes.empty()) return {module.begin(), module.end()};
  std::uint32_t entry = 0;
  bool capabilities_done = false;
  bool modes_done = false;
  for (std::size_t at = header_words; at < module.size();) {
    const std::uint32_t op = module[at] & 0xFFFFu;
    const std::size_t length = module[at] >> 16;
    if (length == 0 || length > module.size() - at) break;
    // Capabilities stand first, extensions behind them; execution modes behind the entry point.
    if (op != op_capability && !capabilities_done) {
      capabilities_done = true;
      for (const Mode& mode : modes) append(out, op_capability, std::array{mode.capability});
      constexpr char name[24] = "SPV_KHR_float_controls";
      std::array<std::uint32_t, sizeof name / 4> words{};
      std::memcpy(words.data(), name, sizeof name);
      append(out, op_extension, words);
    }
    if (op == op_entry_point && entry == 0) entry = module[at + 2];
    if (entry != 0 && op != op_entry_point && !modes_done) {
      modes_done = true;
      for (const Mode& mode : modes) append(out, op_execution_mode, std::array{entry, mode.mode, 32u});
    }
    out.insert(out.end(), module.begin() + static_cast<std::ptrdiff_t>(at),
               module.begin() + static_cast<std::ptrdiff_t>(at + length));
    at += length;
  }
  return out;
}

}  // namespace lanewise::vulkan
