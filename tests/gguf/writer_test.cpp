// What the writer writes, the reader opens, and gives back; what can't be written leaves nothing behind.
#include "gguf/writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <random>

#include "gguf/cases.h"
#include "gguf/reader.h"
#include "gguf/temporary.h"
#include "gguf/walk.h"

namespace lanewise::gguf::test {
namespace {

#define EXPECT_OK(expression)                                       \
  do {                                                              \
    const auto outcome = (expression);                              \
    EXPECT_TRUE(outcome) << #expression << outcome.error().message; \
  } while (false)

Bytes noise(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  Bytes out(size);
  for (auto& byte : out) byte = static_cast<std::uint8_t>(random());
  return out;
}

void add_every_type(Writer* writer) {
  EXPECT_OK(writer->add("u8", std::uint8_t{200}));
  EXPECT_OK(writer->add("i8", std::int8_t{-100}));
  EXPECT_OK(writer->add("u16", std::uint16_t{60000}));
  EXPECT_OK(writer->add("i16", std::int16_t{-30000}));
  EXPECT_OK(writer->add("u32", std::uint32_t{4000000000}));
  EXPECT_OK(writer->add("i32", std::int32_t{-2000000000}));
  EXPECT_OK(writer->add("f32", 0.25f));
  EXPECT_OK(writer->add("bool", true));
  EXPECT_OK(writer->add_string("string", std::string_view("a\0\xff", 3)));
  EXPECT_OK(writer->add("u64", UINT64_MAX));
  EXPECT_OK(writer->add("i64", INT64_MIN));
  EXPECT_OK(writer->add("f64", 1e300));
  const std::vector<std::int16_t> numbers = {1, -2, 3};
  EXPECT_OK(writer->add_array<std::int16_t>("numbers", numbers));
  const std::vector<std::string_view> texts = {"x", "", "yz"};
  EXPECT_OK(writer->add_strings("texts", texts));
  gguf::Bytes nested_value;
  put_array_header(&nested_value, ValueType::ARRAY, 2);
  put_array_header(&nested_value, ValueType::U8, 1);
  put_number(&nested_value, std::uint8_t{7});
  put_array_header(&nested_value, ValueType::STRING, 1);
  put_string(&nested_value, "deep");
  EXPECT_OK(writer->add_value("nested", ValueType::ARRAY, nested_value));
}

void expect_every_type(const Model& model) {
  EXPECT_EQ(model.find("u8")->as_unsigned(), 200u);
  EXPECT_EQ(model.find("i8")->as_integer(), -100);
  EXPECT_EQ(model.find("u16")->as_unsigned(), 60000u);
  EXPECT_EQ(model.find("i16")->as_integer(), -30000);
  EXPECT_EQ(model.find("u32")->as_unsigned(), 4000000000u);
  EXPECT_EQ(model.find("i32")->as_integer(), -2000000000);
  EXPECT_EQ(model.find("f32")->as_float(), 0.25);
  EXPECT_EQ(model.find("bool")->as_bool(), true);
  EXPECT_EQ(model.find("string")->as_string(), std::string_view("a\0\xff", 3));
  EXPECT_EQ(model.find("u64")->as_unsigned(), UINT64_MAX);
  EXPECT_EQ(model.find("i64")->as_integer(), INT64_MIN);
  EXPECT_EQ(model.find("f64")->as_float(), 1e300);
  std::int64_t sum = 0;
  const auto numbers = model.find("numbers")->as_array();
  for (const Value value : *numbers) sum = 10 * sum + *value.as_integer();
  EXPECT_EQ(sum, 83);
  EXPECT_EQ(model.find("texts")->as_array()->size(), 3u);
  const auto nested_value = *model.find("nested")->as_array();
  auto inner = nested_value.begin();
  EXPECT_EQ((*(*inner).as_array()->begin()).as_unsigned(), 7u);
  ++inner;
  EXPECT_EQ((*(*inner).as_array()->begin()).as_string(), "deep");
}

struct Tensor {
  std::string name;
  std::uint32_t type;
  std::vector<std::uint64_t> dims;
  Bytes data;
};

// One tensor of every type that can be written, some of no elements, of one to four dimensions.
std::vector<Tensor> every_tensor() {
  std::vector<Tensor> out;
  unsigned seed = 1;
  for (const TypeInfo& info : tensor_types()) {
    if (info.kind == TypeKind::REMOVED) continue;
    std::vector<std::uint64_t> dims = {std::uint64_t{info.block_elements} * (1 + seed % 3), 3, 2, 2};
    dims.resize(1 + seed % 4);
    std::size_t blocks = 1;
    for (const std::uint64_t dim : dims) blocks *= dim;
    blocks /= info.block_elements;
    out.push_back({"t." + std::string(info.name), info.id, dims, noise(blocks * info.block_bytes, seed)});
    ++seed;
  }
  out.push_back({"scalar", f32, {}, noise(4, 99)});
  out.push_back({"empty", q8_0, {32, 0}, {}});
  out.push_back({"last", q8_0, {64, 5}, noise(340, 100)});
  return out;
}

void write_tensors(Writer* writer, const std::string& path, const std::vector<Tensor>& tensors, std::size_t piece) {
  for (const Tensor& tensor : tensors) EXPECT_OK(writer->add_tensor(tensor.name, tensor.type, tensor.dims));
  ASSERT_TRUE(writer->begin(path));
  Bytes all;
  for (const Tensor& tensor : tensors) all.insert(all.end(), tensor.data.begin(), tensor.data.end());
  EXPECT_EQ(writer->remaining(), all.size());
  for (std::size_t at = 0; at < all.size(); at += piece) {
    ASSERT_TRUE(writer->append(std::span(all).subspan(at, std::min(piece, all.size() - at))));
  }
  EXPECT_EQ(writer->remaining(), 0u);
  EXPECT_OK(writer->finish());
}

void expect_tensors(const Model& model, const std::vector<Tensor>& tensors) {
  ASSERT_EQ(model.tensor_count(), tensors.size());
  for (std::uint64_t i = 0; i < tensors.size(); ++i) {
    const TensorView view = model.tensor(i);
    EXPECT_EQ(view.name, tensors[i].name);
    EXPECT_EQ(view.type, tensors[i].type);
    ASSERT_EQ(view.dim_count, tensors[i].dims.size());
    EXPECT_TRUE(std::equal(tensors[i].dims.begin(), tensors[i].dims.end(), view.dims.begin()));
    EXPECT_TRUE(std::ranges::equal(view.bytes, tensors[i].data)) << view.name;
  }
  walk(model);
}

TEST(Writer, RoundTripOfEverything) {
  const auto tensors = every_tensor();
  for (const std::uint32_t version : {2u, 3u}) {
    for (const std::uint64_t alignment : {8u, 32u, 64u, 65536u}) {
      for (const std::size_t piece : {std::size_t{1}, std::size_t{37}, std::size_t{1} << 20}) {
        const Folder folder;
        Writer writer({.version = version, .alignment = alignment});
        add_every_type(&writer);
        write_tensors(&writer, folder / "m.gguf", tensors, piece);
        EXPECT_EQ(folder.count(), 1u);
        const auto model = Model::open(folder / "m.gguf");
        ASSERT_TRUE(model) << model.error().message;
        EXPECT_EQ(model->version(), version);
        EXPECT_EQ(model->alignment(), alignment);
        expect_every_type(*model);
        expect_tensors(*model, tensors);
      }
    }
  }
}

TEST(Writer, RoundTripOfAllArrayTypes) {
  Writer writer;
  const auto add = [&writer]<class T>(T low, T high) {
    const std::vector<T> values = {low, high};
    EXPECT_OK(writer.add_array<T>(value_type_name(value_type_of<T>()), values));
  };
  add(std::uint8_t{1}, std::uint8_t{255});
  add(std::int8_t{-128}, std::int8_t{127});
  add(std::uint16_t{1}, std::uint16_t{65535});
  add(std::int16_t{-5}, std::int16_t{5});
  add(std::uint32_t{1}, UINT32_MAX);
  add(INT32_MIN, INT32_MAX);
  add(std::uint64_t{1}, UINT64_MAX);
  add(INT64_MIN, INT64_MAX);
  add(-1.5f, 3e38f);
  add(-1.5, 1e308);
  const std::array flags = {false, true};
  EXPECT_OK(writer.add_array<bool>("bool", flags));
  gguf::Bytes bytes;
  ASSERT_TRUE(writer.begin(&bytes));
  ASSERT_TRUE(writer.finish());
  const auto model = Model::open_bytes(bytes);
  ASSERT_TRUE(model) << model.error().message;
  for (std::uint64_t i = 0; i < model->metadata().size(); ++i) {
    const Pair found = model->metadata().at(i);
    const auto values = *found.value.as_array();
    EXPECT_EQ(value_type_name(values.element_type()), found.key);
    EXPECT_EQ(values.size(), 2u);
  }
  const auto last = [&model](const char* key) { return *++model->find(key)->as_array()->begin(); };
  EXPECT_EQ(last("u64").as_unsigned(), UINT64_MAX);
  EXPECT_EQ(last("i64").as_integer(), INT64_MAX);
  EXPECT_EQ(last("i8").as_integer(), 127);
  EXPECT_EQ(last("f64").as_float(), 1e308);
  EXPECT_EQ(last("f32").as_float(), static_cast<double>(3e38f));
  EXPECT_EQ(last("bool").as_bool(), true);
}

TEST(Writer, MatchesAFilePutTogetherByHand) {
  Writer writer;
  EXPECT_OK(writer.add_string("general.architecture", "llama"));
  EXPECT_OK(writer.add_tensor("t", q4_0, std::array<std::uint64_t, 2>{32, 1}));
  gguf::Bytes bytes;
  ASSERT_TRUE(writer.begin(&bytes));
  ASSERT_TRUE(writer.append(q4_0_block()));
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(bytes, std::ranges::find(good_cases(), "one_q4_0", &Case::name)->bytes);
}

TEST(Writer, Shards) {
  const auto tensors = every_tensor();
  for (const std::uint64_t per_shard : {1u, 7u, 38u, 1000u}) {
    const Folder folder;
    Writer writer({.alignment = 64, .tensors_per_shard = per_shard});
    add_every_type(&writer);
    write_tensors(&writer, folder / "m.gguf", tensors, 1000);
    const std::size_t expected = (tensors.size() + per_shard - 1) / per_shard;
    EXPECT_EQ(folder.count(), expected);
    ASSERT_EQ(writer.paths().size(), expected);
    for (const std::size_t from : {std::size_t{0}, expected / 2, expected - 1}) {
      const auto model = Model::open(writer.paths()[from]);
      ASSERT_TRUE(model) << model.error().message;
      EXPECT_EQ(model->shard_count(), expected);
      expect_every_type(*model);
      expect_tensors(*model, tensors);
    }
  }
}

TEST(Writer, RefusesWhatTheReaderWould) {
  Writer writer;
  const auto refused = [](const Outcome& outcome) { return !outcome && outcome.error().code == LW_ERROR_ARGUMENT; };
  EXPECT_TRUE(refused(writer.add("", 1.0f)));
  EXPECT_TRUE(refused(writer.add(std::string_view("a\0", 2), 1.0f)));
  EXPECT_TRUE(refused(writer.add(std::string(65536, 'k'), 1.0f)));
  EXPECT_TRUE(refused(writer.add("general.alignment", std::uint32_t{64})));
  EXPECT_TRUE(refused(writer.add("split.count", std::uint16_t{2})));
  EXPECT_OK(writer.add("a", 1.0f));
  EXPECT_TRUE(refused(writer.add("a", 1.0f)));
  EXPECT_TRUE(refused(writer.add_value("b", ValueType::U32, n16(0))));
  EXPECT_TRUE(refused(writer.add_value("b", ValueType::U32, n64(0))));
  EXPECT_TRUE(refused(writer.add_value("b", ValueType::BOOL, n8(2))));
  EXPECT_TRUE(refused(writer.add_value("b", ValueType::ARRAY, nested(16))));
  using Dims = std::vector<std::uint64_t>;
  EXPECT_TRUE(refused(writer.add_tensor("t", 4, Dims{32})));
  EXPECT_TRUE(refused(writer.add_tensor("t", 99, Dims{32})));
  EXPECT_TRUE(refused(writer.add_tensor("t", q4_0, Dims{33})));
  EXPECT_TRUE(refused(writer.add_tensor("t", f32, Dims{1, 1, 1, 1, 1})));
  EXPECT_TRUE(refused(writer.add_tensor("t", f32, Dims{std::uint64_t{1} << 62, 2})));
  EXPECT_TRUE(refused(writer.add_tensor("", f32, Dims{1})));
  EXPECT_OK(writer.add_tensor("t", f32, Dims{1}));
  EXPECT_TRUE(refused(writer.add_tensor("t", f32, Dims{1})));
  EXPECT_TRUE(refused(writer.append(n32(0))));
  EXPECT_TRUE(refused(writer.finish()));
  gguf::Bytes bytes;
  EXPECT_OK(writer.begin(&bytes));
  EXPECT_TRUE(refused(writer.add("c", 1.0f)));
  EXPECT_TRUE(refused(writer.finish()));
  EXPECT_TRUE(refused(writer.append(n64(0))));
  EXPECT_OK(writer.finish());
  gguf::Bytes other;
  EXPECT_TRUE(refused(Writer({.version = 1}).begin(&other)));
  EXPECT_TRUE(refused(Writer({.alignment = 33}).begin(&other)));
}

TEST(Writer, LeavesNothingBehindUnlessFinished) {
  const Folder folder;
  {
    Writer writer;
    EXPECT_OK(writer.add_tensor("t", f32, std::array<std::uint64_t, 1>{4}));
    EXPECT_OK(writer.begin(folder / "m.gguf"));
    EXPECT_EQ(folder.count(), 1u);
    EXPECT_FALSE(std::filesystem::exists(folder / "m.gguf")) << "visible before it is whole";
  }
  EXPECT_EQ(folder.count(), 0u);
  Writer writer;
  EXPECT_EQ(writer.begin(folder / "none/m.gguf").error().code, LW_ERROR_IO);
}

TEST(Writer, ReplacesNothingButFiles) {
  const Folder folder;
  std::filesystem::create_directory(folder / "m.gguf");
  Writer writer;
  EXPECT_OK(writer.add_tensor("t", f32, std::array<std::uint64_t, 1>{4}));
  const auto outcome = writer.begin(folder / "m.gguf");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, LW_ERROR_IO);
  EXPECT_NE(outcome.error().message.find("no regular file"), std::string::npos) << outcome.error().message;
  EXPECT_TRUE(std::filesystem::is_directory(folder / "m.gguf"));
  EXPECT_EQ(folder.count(), 1u);
}

// A limit on the size of files stands in for a full disk: write() fails after some bytes.
TEST(Writer, AFullDiskIsAnErrorAndLeavesNothing) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  for (const std::uint64_t per_shard : {0u, 1u}) {
    // The fault shows while data is written (large) or only when the last buffer goes out (small).
    for (const std::uint64_t elements : {std::uint64_t{1} << 20, std::uint64_t{2048}}) {
      const Folder folder;
      write_file(folder / "m.gguf", text("what was there before"));
      const rlimit small = {4096, before.rlim_max};
      ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
      Writer writer({.tensors_per_shard = per_shard});
      const std::array<std::uint64_t, 1> dims = {elements};
      EXPECT_OK(writer.add_tensor("small", f32, std::array<std::uint64_t, 1>{1}));
      EXPECT_OK(writer.add_tensor("t", f32, dims));
      EXPECT_OK(writer.begin(folder / "m.gguf"));
      EXPECT_OK(writer.append(n32(0)));
      auto outcome = writer.append(Bytes(elements * 4));
      if (outcome) outcome = writer.finish();
      ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
      ASSERT_FALSE(outcome);
      EXPECT_EQ(outcome.error().code, LW_ERROR_IO);
      EXPECT_NE(outcome.error().message.find("no file is left"), std::string::npos) << outcome.error().message;
      EXPECT_FALSE(writer.append(n8(0)));
      EXPECT_FALSE(writer.finish());
      EXPECT_EQ(folder.count(), 1u);
      EXPECT_EQ(read_file(folder / "m.gguf"), text("what was there before"));
    }
  }
}

}  // namespace
}  // namespace lanewise::gguf::test
