// The binary form of the interface, as programs built against an older header know it, and the lists that it shares
// with formats.def.
#include <gtest/gtest.h>
#include <lanewise/lanewise.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "formats/formats.h"
#include "library/edge.h"

namespace {

using namespace lanewise;

// These numbers change only with LW_ABI_VERSION, or by appending to a struct (then edge.h's table grows too).
static_assert(LW_ABI_VERSION == 1);
static_assert(sizeof(void*) == 8, "the figures below are for 64-bit systems");
static_assert(sizeof(lw_status) == 4 && sizeof(lw_format) == 4 && sizeof(lw_dtype) == 4 && sizeof(lw_planes) == 4);
static_assert(sizeof(lw_error) == 504 && offsetof(lw_error, offset) == 8 && offsetof(lw_error, message) == 16);
static_assert(sizeof(lw_format_info) == 24 && offsetof(lw_format_info, block_bytes) == 20);
static_assert(sizeof(lw_tensor_info) == 88 && offsetof(lw_tensor_info, dims) == 48 &&
              offsetof(lw_tensor_info, is_weight) == 80);
static_assert(sizeof(lw_device_options) == 64 && offsetof(lw_device_options, parallel_user) == 32 &&
              offsetof(lw_device_options, layout) == 40 && offsetof(lw_device_options, stream) == 48 &&
              offsetof(lw_device_options, overlapped) == 56);
static_assert(sizeof(lw_device_info) == 24 && offsetof(lw_device_info, description) == 16);
static_assert(sizeof(lw_matrix_info) == 32 && offsetof(lw_matrix_info, bytes) == 24);
static_assert(sizeof(lw_activation_info) == 40 && offsetof(lw_activation_info, is_set) == 32);
static_assert(sizeof(lw_vulkan) == 56 && offsetof(lw_vulkan, instance) == 8 &&
              offsetof(lw_vulkan, has_dot_product) == 48);
static_assert(sizeof(lw_output) == 24 && offsetof(lw_output, stride) == 16);

TEST(Abi, VersionsCanBeAsked) {
  EXPECT_EQ(lw_abi_version(), static_cast<std::uint32_t>(LW_ABI_VERSION));
  EXPECT_EQ(lw_arithmetic_version(), static_cast<std::uint32_t>(LW_ARITHMETIC_VERSION));
  EXPECT_TRUE(std::regex_match(lw_version(), std::regex("[0-9]+\\.[0-9]+\\.[0-9]+"))) << lw_version();
}

TEST(Abi, EveryStatusOfTheHeaderHasItsName) {
  std::ifstream file(LANEWISE_SOURCE_DIR "/include/lanewise/lanewise.h");
  std::stringstream text;
  text << file.rdbuf();
  const std::string header = text.str();
  const std::regex entry("\\n  (LW_OK|LW_ERROR_[A-Z_]+) = ([0-9]+)");
  std::size_t found = 0;
  for (std::sregex_iterator i(header.begin(), header.end(), entry), end; i != end; ++i, ++found) {
    EXPECT_EQ((*i)[1].str(), lw_status_name(static_cast<lw_status>(std::stoi((*i)[2].str()))));
  }
  EXPECT_EQ(found, 16u);
  EXPECT_STREQ(lw_status_name(static_cast<lw_status>(9)), "unknown status");
  EXPECT_STREQ(lw_status_name(static_cast<lw_status>(0xFFFFFFFFu)), "unknown status");
}

TEST(Abi, FormatsAreThoseOfTheTable) {
  ASSERT_EQ(lw_format_count(), formats().size());
  for (std::uint32_t i = 0; i < lw_format_count(); ++i) {
    lw_format_info info = LW_FORMAT_INFO_INIT;
    ASSERT_EQ(lw_format_at(i, &info), LW_OK);
    EXPECT_EQ(static_cast<std::uint32_t>(info.format), formats()[i].id);
    EXPECT_EQ(info.name, formats()[i].name);
    EXPECT_EQ(info.block_elements, formats()[i].block_elements);
    EXPECT_EQ(info.block_bytes, formats()[i].block_bytes);
    lw_format_info again = LW_FORMAT_INFO_INIT;
    ASSERT_EQ(lw_format_query(info.format, &again), LW_OK);
    EXPECT_EQ(std::memcmp(&info, &again, sizeof info), 0);
    std::string upper(info.name);
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    for (const std::string& name : {std::string(info.name), upper}) {
      lw_format format{};
      ASSERT_EQ(lw_format_by_name(name.c_str(), &format), LW_OK) << name;
      EXPECT_EQ(format, info.format);
    }
  }
}

// The header lists the formats by hand: none may be missing there (the other direction is static_asserted in
// format.cpp).
TEST(Abi, TheHeaderListsEveryFormat) {
  std::ifstream file(LANEWISE_SOURCE_DIR "/include/lanewise/lanewise.h");
  std::stringstream text;
  text << file.rdbuf();
  const std::string header = text.str();
  const auto begin = header.find("typedef enum lw_format");
  const std::string list = header.substr(begin, header.find("} lw_format;") - begin);
  const std::regex entry("LW_[A-Z0-9_]+ = ([0-9]+)");
  std::set<std::uint32_t> numbers;
  for (std::sregex_iterator i(list.begin(), list.end(), entry), end; i != end; ++i) {
    const auto number = static_cast<std::uint32_t>(std::stoul((*i)[1].str()));
    EXPECT_TRUE(numbers.insert(number).second) << number;
    EXPECT_NE(find_format(number), nullptr) << number;
  }
  EXPECT_EQ(numbers.size(), formats().size());
}

// A struct of two ages, as one that a later version will have grown.
struct Grown {
  std::uint32_t struct_size;
  std::uint32_t first;
  std::uint64_t later;
};

}  // namespace

namespace lanewise::edge {
template <>
inline constexpr std::array published_sizes<Grown> = {std::uint32_t{8}, std::uint32_t{16}};
}  // namespace lanewise::edge

namespace {

TEST(Abi, AnOlderCallersStructIsServed) {
  Grown memory = {8, 0, 77};
  ASSERT_TRUE(edge::has_known_size(&memory));
  edge::fill(&memory, Grown{0, 5, 6});
  EXPECT_EQ(memory.struct_size, 8u);
  EXPECT_EQ(memory.first, 5u);
  EXPECT_EQ(memory.later, 77u) << "past the caller's struct";

  const Grown read = edge::read(Grown{8, 1, 2}, Grown{0, 8, 9});
  EXPECT_EQ(read.first, 1u);
  EXPECT_EQ(read.later, 9u) << "the caller's header doesn't know the field";

  memory = {16, 0, 0};
  edge::fill(&memory, Grown{0, 5, 6});
  EXPECT_EQ(memory.later, 6u);
  for (const std::uint32_t size : {0u, 4u, 7u, 9u, 12u, 15u, 17u, 24u, 0xFFFFFFFFu}) {
    memory.struct_size = size;
    EXPECT_FALSE(edge::has_known_size(&memory)) << size;
  }
  EXPECT_FALSE(edge::has_known_size(static_cast<const Grown*>(nullptr)));
}

TEST(Abi, AMessageIsCutBetweenCharacters) {
  lw_error error = LW_ERROR_INIT;
  // Three bytes a character: 487 bytes have room for 162 and one byte more.
  std::string text;
  for (int i = 0; i < 200; ++i) text += "\u20AC";
  EXPECT_EQ(edge::report(&error, LW_ERROR_IO, text, 9), LW_ERROR_IO);
  EXPECT_EQ(std::strlen(error.message), 486u);
  EXPECT_EQ(error.offset, 9u);
  EXPECT_EQ(edge::report(&error, LW_ERROR_IO, std::string(1000, '\x80'), 9), LW_ERROR_IO);
  EXPECT_EQ(std::strlen(error.message), 484u) << "no UTF-8: cut within three bytes";
  EXPECT_EQ(edge::report(&error, LW_ERROR_IO, std::string(487, 'x'), 9), LW_ERROR_IO);
  EXPECT_EQ(std::strlen(error.message), 487u);
}

TEST(Abi, ExceptionsBecomeStatuses) {
  lw_error error = LW_ERROR_INIT;
  EXPECT_EQ(edge::guarded(&error, []() -> Outcome { throw std::bad_alloc(); }), LW_ERROR_MEMORY);
  EXPECT_EQ(error.code, LW_ERROR_MEMORY);
  EXPECT_EQ(edge::guarded(&error, []() -> Outcome { throw std::runtime_error("spilled"); }), LW_ERROR_INTERNAL);
  EXPECT_STREQ(error.message, "spilled");
  EXPECT_EQ(edge::guarded(&error, []() -> Outcome { throw 1; }), LW_ERROR_INTERNAL);
  EXPECT_EQ(edge::guarded(nullptr, []() -> Outcome { throw std::bad_alloc(); }), LW_ERROR_MEMORY);
  EXPECT_EQ(edge::guarded(&error, []() -> Outcome { return Done{}; }), LW_OK);
  EXPECT_EQ(error.code, LW_OK);
  EXPECT_STREQ(error.message, "");
  EXPECT_EQ(error.offset, LW_NO_OFFSET);
}

}  // namespace
