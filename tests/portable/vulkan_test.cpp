// The SPIR-V of the decode files, run on a Vulkan device (a software one will do), against the C++ bits of the same
// files: codes, sub-scales, sub-mins, the bits of d and m, and the values, on 2^16 random blocks a format.
#include <cstdlib>
#include <fstream>

#include "formats/support.h"
#include "portable/vulkan_device.h"

namespace lanewise::test {
namespace {

constexpr std::size_t record_words = 9;

class Vulkan : public testing::TestWithParam<FormatInfo> {};
INSTANTIATE_TEST_SUITE_P(Formats, Vulkan, testing::ValuesIn(formats().begin(), formats().end()), test_name);

std::vector<std::uint32_t> spirv_of(const FormatInfo& info, const char* folder) {
  std::ifstream file(std::string(LANEWISE_SPIRV_FOLDER) + "/" + folder + "/" + std::string(info.name) + ".spv",
                     std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

// What the shader of decode.comp.in writes for these blocks.
template <class T>
std::vector<std::uint32_t> by_cpp(const Bytes& bytes) {
  const std::vector<float> values = dequantized(T::info, bytes);
  std::vector<std::uint32_t> records;
  if constexpr (T::info.is_float()) {
    for (const float value : values) records.push_back(std::bit_cast<std::uint32_t>(value));
  } else {
    records.reserve(values.size() / 4 * record_words);
    for (std::size_t k = 0; k < values.size(); k += 4) {
      const Block<T> block{bytes.data() + k / T::info.block_elements * T::info.block_bytes};
      const auto at = static_cast<lw_u32>(k % T::info.block_elements);
      records.push_back(block.quad(at / 4));
      records.push_back(static_cast<std::uint32_t>(block.sub_scale(at / T::info.group)));
      records.push_back(static_cast<std::uint32_t>(block.sub_min(at / T::info.group)));
      records.push_back(block.scale_bits(at / T::info.dgroup));
      records.push_back(block.min_bits(at / T::info.dgroup));
      for (std::size_t i = 0; i < 4; ++i) records.push_back(std::bit_cast<std::uint32_t>(values[k + i]));
    }
  }
  return records;
}

std::span<const lw_u32> grid_of(const FormatInfo& info) {
  if (!info.has_grid) return {};
  const std::pair<std::string_view, std::span<const lw_u32>> grids[] = {
      {"iq2_xxs", lw_iq2_xxs_grid}, {"iq2_xs", lw_iq2_xs_grid}, {"iq2_s", lw_iq2_s_grid}, {"iq3_xxs", lw_iq3_xxs_grid},
      {"iq3_s", lw_iq3_s_grid},     {"iq1_s", lw_iq1_grid},     {"iq1_m", lw_iq1_grid}};
  for (const auto& [name, grid] : grids) {
    if (name == info.name) return grid;
  }
  ADD_FAILURE() << "no grid of " << info.name;
  return {};
}

// `blocks` random blocks in chunks of `chunk`, through the SPIR-V of that folder.
void compare(const FormatInfo& info, const char* folder, std::size_t blocks, std::size_t chunk) {
  std::string why;
  const std::unique_ptr<VulkanDevice> device = VulkanDevice::open(why);
  if (device == nullptr) {
    const char* required = std::getenv("LANEWISE_REQUIRE_VULKAN");
    if (required != nullptr && std::string(required) == "1") FAIL() << why << ", and LANEWISE_REQUIRE_VULKAN is 1";
    GTEST_SKIP() << "skipped: " << why;
  }
  testing::Test::RecordProperty("device", device->name());
  testing::Test::RecordProperty("validation_layer", device->validated() ? "on" : "not installed");
  const std::vector<std::uint32_t> spirv = spirv_of(info, folder);
  ASSERT_GT(spirv.size(), 5U) << "no SPIR-V for " << info.name;
  Random random(61 + info.id);
  const std::size_t quads = info.is_float() ? 1 : info.block_elements / 4;
  const std::size_t words = info.is_float() ? 1 : record_words;
  for (std::size_t done = 0; done < blocks; done += chunk) {
    const Bytes bytes = random_blocks(info, chunk, random);
    const std::vector<std::uint32_t> got =
        device->run(spirv, bytes, grid_of(info), chunk * quads * words, static_cast<std::uint32_t>(chunk));
    with_format(info.format, [&]<class T>(T) {
      const std::vector<std::uint32_t> wanted = by_cpp<T>(bytes);
      ASSERT_EQ(got.size(), wanted.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        const std::size_t block = i / words / quads;
        ASSERT_EQ(got[i], wanted[i]) << info.name << " word " << i % words << " of quad " << i / words % quads << " of "
                                     << hex(std::span(bytes).subspan(block * info.block_bytes, info.block_bytes));
      }
    });
  }
  for (const std::string& complaint : device->complaints()) ADD_FAILURE() << complaint;
}

TEST_P(Vulkan, DecodesToTheSameBits) { compare(GetParam(), "spirv", std::size_t{1} << 16, std::size_t{1} << 14); }

// The grid as the constant array that the decode file holds. One format and few blocks: compiling such a shader takes
// lavapipe under a second for IQ2_XXS, but 7 for IQ3_XXS, 28 for IQ3_S and more than 90 for IQ1_S.
TEST(VulkanGrid, AsAConstantArray) { compare(format_info(Format::IQ2_XXS), "spirv_constant", 1024, 1024); }

}  // namespace
}  // namespace lanewise::test
