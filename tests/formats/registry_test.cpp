// formats.def is one table for C++, CMake and the documentation: what each of them sees must be the same.
#include <fstream>
#include <sstream>

#include "formats/support.h"
#include "oracle/oracle.h"

namespace lanewise::test {
namespace {

TEST(Registry, CMakeSawTheSameNames) {
  const std::vector<std::string_view> seen = {
#include "formats/names_seen_by_cmake.inc"
  };
  ASSERT_EQ(seen.size(), formats().size());
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], formats()[i].name);
}

TEST(Registry, FindsByIdAndByNameInAnyCase) {
  ASSERT_EQ(formats().size(), 28U);
  for (const FormatInfo& info : formats()) {
    EXPECT_EQ(find_format(info.id), &info);
    EXPECT_EQ(find_format(info.name), &info);
    EXPECT_EQ(&format_info(info.format), &info);
    EXPECT_EQ(info.name.data()[info.name.size()], '\0') << "names are null-terminated";
    std::string upper(info.name);
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    EXPECT_EQ(find_format(upper), &info);
  }
}

TEST(Registry, KnowsNoOthers) {
  for (const std::uint32_t id : {4U, 5U, 9U, 15U, 24U, 28U, 31U, 36U, 38U, 43U, 0xFFFFFFFFU}) {
    EXPECT_EQ(find_format(id), nullptr) << id;
  }
  for (const char* name : {"", "q", "q4_", "q4_00", "q8_K", "q8_1", "q4-0"})
    EXPECT_EQ(find_format(name), nullptr) << name;
}

TEST(Registry, AgreesWithTheOracle) {
  for (const FormatInfo& info : formats()) {
    const oracle::Facts* facts = oracle::facts(static_cast<int>(info.id));
    ASSERT_NE(facts, nullptr) << info.name;
    EXPECT_EQ(static_cast<int>(info.block_elements), facts->block_elements) << info.name;
    EXPECT_EQ(static_cast<int>(info.block_bytes), facts->block_bytes) << info.name;
    EXPECT_EQ(static_cast<int>(info.group), facts->group) << info.name;
    EXPECT_EQ(static_cast<int>(info.dgroup), facts->dgroup) << info.name;
    EXPECT_EQ(info.has_min, facts->has_min) << info.name;
    EXPECT_EQ(info.is_float(), facts->is_float) << info.name;
    EXPECT_EQ(info.kind == FormatKind::EXP, facts->exponent_scale) << info.name;
    EXPECT_EQ(row_bytes(info, 768 * 4), static_cast<std::uint64_t>(oracle::row_bytes(facts->id, 768 * 4))) << info.name;
  }
}

TEST(Registry, GroupsNestInBlocks) {
  for (const FormatInfo& info : formats()) {
    EXPECT_EQ(info.dgroup % info.group, 0U) << info.name;
    EXPECT_EQ(info.block_elements % info.dgroup, 0U) << info.name;
    EXPECT_TRUE(info.is_float() || info.group % 4 == 0) << info.name;
  }
}

// The sum of a 64-bit row is what a reader checks sizes with: no intermediate may wrap below 2^64 bytes.
TEST(Registry, RowBytesOfHugeRows) {
  EXPECT_EQ(row_bytes(format_info(Format::F32), std::uint64_t{1} << 61), std::uint64_t{1} << 63);
  EXPECT_EQ(row_bytes(format_info(Format::Q4_K), std::uint64_t{1} << 40), (std::uint64_t{1} << 32) * 144);
}

// docs/formats.md repeats formats.def for people: a row of its table is
// | name | id | elements | bytes | bits a weight | group | d-group | ...
TEST(Registry, TheDocumentedTableIsThisOne) {
  std::ifstream file(LANEWISE_SOURCE_DIR "/docs/formats.md");
  ASSERT_TRUE(file) << "docs/formats.md can't be read";
  std::size_t found = 0;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '|');) {
      const std::size_t first = cell.find_first_not_of(" `");
      const std::size_t last = cell.find_last_not_of(" `");
      cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
    }
    if (cells.size() < 9 || find_format(cells[1]) == nullptr || cells[1].empty()) continue;
    ASSERT_LT(found, formats().size()) << line;
    const FormatInfo& info = formats()[found++];
    EXPECT_EQ(find_format(cells[1]), &info) << "in the order of formats.def: " << line;
    EXPECT_EQ(cells[2], std::to_string(info.id)) << line;
    EXPECT_EQ(cells[3], std::to_string(info.block_elements)) << line;
    EXPECT_EQ(cells[4], std::to_string(info.block_bytes)) << line;
    EXPECT_EQ(std::stod(cells[5]), info.bits_per_weight()) << line;
    EXPECT_EQ(cells[6], info.is_float() ? "-" : std::to_string(info.group)) << line;
    EXPECT_EQ(cells[7], info.is_float() ? "-" : std::to_string(info.dgroup)) << line;
  }
  EXPECT_EQ(found, formats().size());
}

}  // namespace
}  // namespace lanewise::test
