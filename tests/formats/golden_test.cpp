// Blocks frozen with the values that other implementations gave them; each file's first line names these.
#include <filesystem>
#include <fstream>

#include "formats/support.h"

namespace lanewise::test {
namespace {

class Golden : public testing::TestWithParam<FormatInfo> {};
INSTANTIATE_TEST_SUITE_P(Formats, Golden, testing::ValuesIn(formats().begin(), formats().end()), test_name);

const std::filesystem::path folder = LANEWISE_SOURCE_DIR "/tests/formats/golden";

Bytes bytes_of(const std::string& text) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

TEST_P(Golden, DecodesAsFrozen) {
  const FormatInfo& info = GetParam();
  std::ifstream file(folder / (std::string(info.name) + ".txt"));
  ASSERT_TRUE(file) << "no golden file";
  std::string origin;
  std::getline(file, origin);
  EXPECT_EQ(origin.find(std::string(info.name) + ", decoded alike by "), 0U) << origin;
  std::size_t blocks = 0;
  for (std::string block, values; file >> block >> values; ++blocks) {
    const Bytes bytes = bytes_of(block);
    ASSERT_EQ(bytes.size(), info.block_bytes);
    ASSERT_EQ(values.size(), 8 * info.block_elements);
    std::vector<float> wanted;
    for (std::size_t k = 0; k < info.block_elements; ++k) {
      wanted.push_back(
          std::bit_cast<float>(static_cast<std::uint32_t>(std::stoul(values.substr(8 * k, 8), nullptr, 16))));
    }
    EXPECT_TRUE(same_bits(info, bytes, dequantized(info, bytes), wanted)) << origin;
  }
  EXPECT_TRUE(file.eof());
  EXPECT_GE(blocks, 7U);
}

TEST(GoldenFiles, ThereIsNoOther) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_NE(find_format(entry.path().stem().string()), nullptr) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, formats().size());
}

}  // namespace
}  // namespace lanewise::test
