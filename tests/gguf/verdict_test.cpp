// Every file with a verdict, every prefix of them, every byte of them changed; from memory, mapped and read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/checked.h"
#include "gguf/cases.h"
#include "gguf/reader.h"
#include "gguf/temporary.h"
#include "gguf/walk.h"

namespace lanewise::gguf::test {
namespace {

class Good : public testing::TestWithParam<Case> {};
class Refused : public testing::TestWithParam<Case> {};

std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }

// Bytes of a good file without which something announced is missing: all but padding at the end.
std::size_t needed(const Case& c, const Model& model) {
  std::uint64_t end = c.table;
  for (std::uint64_t i = 0; i < model.tensor_count(); ++i) {
    const TensorView tensor = model.tensor(i);
    if (!tensor.bytes.empty()) end = std::max<std::uint64_t>(end, tensor.offset + tensor.bytes.size());
  }
  return end;
}

TEST_P(Good, Loads) {
  const auto model = Model::open_bytes(GetParam().bytes);
  ASSERT_TRUE(model) << model.error().message;
  walk(*model);
}

TEST_P(Good, LoadsFromAFile) {
  const Folder folder;
  const std::string path = folder / "model.gguf";
  write_file(path, GetParam().bytes);
  const auto expected = Model::open_bytes(GetParam().bytes);
  ASSERT_TRUE(expected);
  for (const FileAccess access : {FileAccess::automatic, FileAccess::map, FileAccess::read}) {
    const auto model = Model::open(path, access);
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->is_mapped(), access != FileAccess::read);
    ASSERT_EQ(model->tensor_count(), expected->tensor_count());
    for (std::uint64_t i = 0; i < model->tensor_count(); ++i) {
      const TensorView tensor = model->tensor(i);
      EXPECT_TRUE(std::ranges::equal(tensor.bytes, expected->tensor(i).bytes)) << tensor.name;
    }
    EXPECT_EQ(walk(*model), walk(*expected));
  }
}

TEST_P(Good, EveryPrefixIsCutShort) {
  const Case& c = GetParam();
  const auto whole = Model::open_bytes(c.bytes);
  ASSERT_TRUE(whole);
  const std::size_t least = needed(c, *whole);
  for (std::size_t size = 0; size < c.bytes.size(); ++size) {
    const Bytes prefix(c.bytes.begin(), c.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const auto model = Model::open_bytes(prefix);
    if (size >= least) {
      ASSERT_TRUE(model) << size << " bytes, only padding missing: " << model.error().message;
      walk(*model);
      continue;
    }
    ASSERT_FALSE(model) << size << " bytes load, " << least << " are needed";
    EXPECT_EQ(model.error().code, LW_ERROR_FILE_TRUNCATED) << size << " bytes: " << model.error().message;
    EXPECT_LE(model.error().offset, size);
  }
}

TEST_P(Good, AnyByteMayChange) {
  const Case& c = GetParam();
  Bytes bytes = c.bytes;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const std::uint8_t original = bytes[at];
    for (const unsigned value : {0u, 1u, 2u, 9u, 0x7Fu, 0x80u, 0xFFu, original ^ 1u, original ^ 0x20u, original + 1u}) {
      bytes[at] = static_cast<std::uint8_t>(value);
      const auto model = Model::open_bytes(bytes);
      if (model) {
        walk(*model);
      } else {
        EXPECT_NE(model.error().code, LW_OK);
        EXPECT_NE(model.error().code, LW_ERROR_INTERNAL);
        EXPECT_FALSE(model.error().message.empty());
      }
    }
    bytes[at] = original;
  }
}

// A mapped file that another process rewrites: what is decoded changes, but never reaches outside the mapping. The
// bytes are exactly as many as the file has, so that AddressSanitizer sees a step past them.
TEST_P(Good, MayBeRewrittenWhileOpen) {
  const Case& c = GetParam();
  if (c.bytes.size() > 4096) return;
  Bytes bytes = c.bytes;
  const auto model = Model::open_bytes(bytes);
  ASSERT_TRUE(model);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const unsigned value : {0u, 1u, 9u, 0x80u, 0xFFu}) {
      bytes[at] = static_cast<std::uint8_t>(value);
      walk(*model, false);
    }
    bytes[at] = c.bytes[at];
  }
  for (const unsigned value : {0u, 1u, 9u, 0xFFu}) {
    std::ranges::fill(bytes, static_cast<std::uint8_t>(value));
    walk(*model, false);
  }
}

TEST_P(Refused, WithItsCodeAndOffset) {
  const Case& c = GetParam();
  const auto model = Model::open_bytes(c.bytes);
  ASSERT_FALSE(model);
  const Error& error = model.error();
  EXPECT_EQ(error.code, c.expected) << error.message;
  if (c.offset) {
    EXPECT_EQ(error.offset, *c.offset) << error.message;
  }
  EXPECT_NE(error.message.find(c.says), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find('\n'), std::string::npos);
  EXPECT_LT(error.message.size(), sizeof(lw_error::message)) << "the C interface would cut it";

  const Folder folder;
  write_file(folder / "model.gguf", c.bytes);
  for (const FileAccess access : {FileAccess::automatic, FileAccess::read}) {
    const auto opened = Model::open(folder / "model.gguf", access);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, error.code);
    EXPECT_EQ(opened.error().offset, error.offset);
  }
}

// Of the few files that are long, a sample.
std::size_t step_of_prefixes(const Case& c) { return c.bytes.size() > 4096 ? c.bytes.size() / 997 : 1; }

TEST_P(Refused, EveryPrefixIsHandled) {
  const Case& c = GetParam();
  for (std::size_t size = 0; size < c.bytes.size(); size += step_of_prefixes(c)) {
    const Bytes prefix(c.bytes.begin(), c.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const auto model = Model::open_bytes(prefix);
    if (model) walk(*model);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Good, testing::ValuesIn(good_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Cases, Refused, testing::ValuesIn(refused_cases()), name_of);

TEST(Cases, HaveDistinctNamesAndAreThere) {
  std::set<std::string> names;
  for (const auto& list : {good_cases(), refused_cases()}) {
    for (const Case& c : list) EXPECT_TRUE(names.insert(c.name).second) << c.name;
  }
  EXPECT_GE(good_cases().size(), 40u);
  EXPECT_GE(refused_cases().size(), 80u);
  std::size_t prefixes = 0;
  for (const Case& c : good_cases()) prefixes += c.bytes.size();
  for (const Case& c : refused_cases()) prefixes += ceil_div(c.bytes.size(), step_of_prefixes(c));
  std::printf("%zu good files, %zu refused, %zu prefixes of them\n", good_cases().size(), refused_cases().size(),
              prefixes);
}

TEST(Truncated, NamesTheMissingBytes) {
  // Tensors a (54 bytes at 160), b (16 at 224) and c (144 at 256).
  const auto found = std::ranges::find(good_cases(), "three_tensors", &Case::name);
  ASSERT_NE(found, good_cases().end());
  const auto whole = Model::open_bytes(found->bytes);
  ASSERT_TRUE(whole);
  const auto end_of = [&](std::uint64_t i) { return whole->tensor(i).offset + whole->tensor(i).bytes.size(); };
  for (std::uint64_t size = found->table; size < end_of(2); ++size) {
    const Bytes prefix(found->bytes.begin(), found->bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const auto model = Model::open_bytes(prefix);
    ASSERT_FALSE(model);
    std::uint64_t cut = 0;
    while (end_of(cut) <= size) ++cut;
    const std::uint64_t missing = end_of(cut) - size;
    const std::string expected = "the file ends " + std::to_string(missing) + (missing == 1 ? " byte" : " bytes") +
                                 " before the end of tensor '" + std::string(whole->tensor(cut).name) + "'";
    EXPECT_EQ(model.error().message.substr(0, expected.size()), expected);
    if (cut != 2) {
      const std::string all = std::to_string(end_of(2) - size) + " bytes";
      EXPECT_NE(model.error().message.find(all), std::string::npos) << model.error().message;
    }
    EXPECT_EQ(model.error().offset, size);
  }
}

}  // namespace
}  // namespace lanewise::gguf::test
