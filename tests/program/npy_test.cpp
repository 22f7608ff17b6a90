// The .npy reader: what NumPy writes is read, everything else gives an error that says where.
#include "npy.h"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

namespace lanewise::program {
namespace {

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// A version 1.0 file around a header text.
std::string file_of(const std::string& dict, std::size_t data_bytes, char major = 1) {
  std::string out = std::string("\x93NUMPY") + major + '\0';
  out += static_cast<char>(dict.size() & 0xFFu);
  out += static_cast<char>(dict.size() >> 8u);
  if (major != 1) out += std::string(2, '\0');
  return out + dict + std::string(data_bytes, '\0');
}

Error error_of(const std::string& file) {
  auto header = parse_npy(bytes_of(file));
  EXPECT_FALSE(header.ok());
  return header ? Error{LW_OK, "", 0} : header.error();
}

const std::string f4_3x5 = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5), }\n";

TEST(Npy, ReadsWhatIsWritten) {
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>{3, 640}, {1, 1}, {0, 7}, {1234567}, {2, 3, 4}}) {
    std::uint64_t elements = 1;
    for (const std::uint64_t dim : shape) elements *= dim;
    const std::string header = npy_header(shape);
    EXPECT_EQ(header.size() % 64, 0u);
    const std::string file = header + std::string(elements * 4, 'x');
    const auto parsed = parse_npy(bytes_of(file));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ(parsed->shape, shape);
    EXPECT_EQ(parsed->dtype, Dtype::f32);
    EXPECT_EQ(parsed->data_offset, header.size());
    EXPECT_EQ(parsed->elements, elements);
  }
}

TEST(Npy, ReadsNumPysVariants) {
  for (const char major : {'\1', '\2', '\3'}) EXPECT_TRUE(parse_npy(bytes_of(file_of(f4_3x5, 60, major))).ok());
  // Keys in another order, double quotes, no comma at the end, spaces.
  EXPECT_TRUE(parse_npy(bytes_of(file_of(R"({"shape":(5,) ,"fortran_order":False,"descr":"<f2"})", 10))).ok());
  // A vector may be marked as in Fortran order: both orders are the same.
  EXPECT_TRUE(parse_npy(bytes_of(file_of("{'descr': '<f4', 'fortran_order': True, 'shape': (5,), }", 20))).ok());
  // A single number.
  EXPECT_TRUE(parse_npy(bytes_of(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 4))).ok());
}

TEST(Npy, EveryPrefixIsRefused) {
  const std::string file = file_of(f4_3x5, 60);
  for (std::size_t size = 0; size < file.size(); ++size) {
    const Error error = error_of(file.substr(0, size));
    EXPECT_LE(error.offset, size);
  }
  EXPECT_TRUE(parse_npy(bytes_of(file)).ok());
}

TEST(Npy, HostileHeadersAreRefused) {
  struct Hostile {
    std::string header;
    Status code;
    std::string says;
  };
  const auto with = [](const std::string& descr, const std::string& order, const std::string& shape) {
    return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  };
  const Hostile cases[] = {
      {with("'>f4'", "False", "(3, 5)"), LW_ERROR_UNSUPPORTED, "big-endian"},
      {with("'<f8'", "False", "(3, 5)"), LW_ERROR_UNSUPPORTED, "'<f8'"},
      {with("'<i4'", "False", "(3, 5)"), LW_ERROR_UNSUPPORTED, "'<i4'"},
      {with("'|O'", "False", "(3, 5)"), LW_ERROR_UNSUPPORTED, "'|O'"},
      {with("[('a', '<f4')]", "False", "(3, 5)"), LW_ERROR_UNSUPPORTED, "fields"},
      {with("'<f4'", "True", "(3, 5)"), LW_ERROR_UNSUPPORTED, "Fortran"},
      {with("'<f4'", "Maybe", "(3, 5)"), LW_ERROR_ARGUMENT, "True nor False"},
      {with("'<f4'", "False", "(3, -5)"), LW_ERROR_ARGUMENT, "no number"},
      {with("'<f4'", "False", "(3 5)"), LW_ERROR_ARGUMENT, "missing"},
      {with("'<f4'", "False", "[3, 5]"), LW_ERROR_ARGUMENT, "tuple"},
      {with("'<f4'", "False", "(99999999999999999999, 1)"), LW_ERROR_ARGUMENT, "64 bits"},
      {with("'<f4'", "False", "(4294967296, 4294967296)"), LW_ERROR_ARGUMENT, "64 bits"},
      {with("'<f4'", "False", "(4611686018427387904,)"), LW_ERROR_FILE_TRUNCATED, "cut short"},
      {with("'<f4'", "False", "(1,1,1,1,1,1,1,1,15)"), LW_ERROR_ARGUMENT, "8 dimensions"},
      {with("'<f4", "False", "(3, 5)"), LW_ERROR_UNSUPPORTED, "'<f4, '"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3, 5)}", LW_ERROR_ARGUMENT, "twice"},
      {"{'descr': '<f4', 'shape': (3, 5)}", LW_ERROR_ARGUMENT, "missing"},
      {"{'other': 1}", LW_ERROR_ARGUMENT, "none of"},
      {"{}", LW_ERROR_ARGUMENT, "missing"},
      {"", LW_ERROR_ARGUMENT, "'{'"},
      {std::string(60, '\0'), LW_ERROR_ARGUMENT, "'{'"},
      {"{'descr", LW_ERROR_ARGUMENT, "doesn't end"},
      {f4_3x5 + "x", LW_ERROR_ARGUMENT, "follows"},
  };
  for (const Hostile& hostile : cases) {
    const Error error = error_of(file_of(hostile.header, 60));
    EXPECT_EQ(error.code, hostile.code) << hostile.header << ": " << error.message;
    EXPECT_NE(error.message.find(hostile.says), std::string::npos) << hostile.header << ": " << error.message;
  }
}

TEST(Npy, SizesMustMatch) {
  EXPECT_EQ(error_of(file_of(f4_3x5, 59)).code, LW_ERROR_FILE_TRUNCATED);
  EXPECT_EQ(error_of(file_of(f4_3x5, 61)).code, LW_ERROR_ARGUMENT);
  EXPECT_EQ(error_of("not numpy at all").offset, 0u);
  // A header length of 4 GiB in a file of 12 bytes: refused before anything is allocated.
  std::string huge = std::string("\x93NUMPY") + '\2' + '\0' + std::string(4, '\xFF');
  EXPECT_EQ(error_of(huge).code, LW_ERROR_ARGUMENT);
  EXPECT_EQ(error_of(file_of(f4_3x5, 60, '\4')).code, LW_ERROR_UNSUPPORTED);
}

// Every byte of a good header changed to every value: a header or an error, never anything else (run under sanitizers).
TEST(Npy, EveryChangedByte) {
  const std::string good = file_of(f4_3x5, 60);
  std::size_t accepted = 0;
  for (std::size_t at = 0; at < good.size() - 60; ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string file = good;
      file[at] = static_cast<char>(value);
      const auto header = parse_npy(bytes_of(file));
      if (!header) continue;
      ++accepted;
      EXPECT_EQ(header->data_offset + header->data_bytes(), file.size());
    }
  }
  // The file itself (once a byte), and a few that mean the same.
  EXPECT_GE(accepted, good.size() - 60);
}

}  // namespace
}  // namespace lanewise::program
