// What an opened model says: metadata, tensors, matrices, and the errors of asking for what isn't there.
#include "gguf/reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "gguf/cases.h"
#include "gguf/escape.h"

namespace lanewise::gguf::test {
namespace {

const Bytes& good(const std::string& name) {
  const auto found = std::ranges::find(good_cases(), name, &Case::name);
  if (found == good_cases().end()) throw std::runtime_error("no case " + name);
  return found->bytes;
}

Model open_good(const std::string& name) {
  auto model = Model::open_bytes(good(name));
  if (!model) throw std::runtime_error(model.error().message);
  return std::move(model).value();
}

// By value: a loop over `*optional` of a temporary would outlive it.
Array elements(const Model& model, std::string_view key) {
  const auto array = model.find(key)->as_array();
  if (!array) throw std::runtime_error("no array");
  return *array;
}

TEST(Metadata, EveryType) {
  const Model model = open_good("every_value_type");
  EXPECT_EQ(model.find("v.u8")->as_unsigned(), 200u);
  EXPECT_EQ(model.find("v.u8")->as_integer(), 200);
  EXPECT_EQ(model.find("v.i8")->as_integer(), -128);
  EXPECT_EQ(model.find("v.i8")->as_unsigned(), std::nullopt);
  EXPECT_EQ(model.find("v.u16")->as_unsigned(), 65535u);
  EXPECT_EQ(model.find("v.i16")->as_integer(), -32768);
  EXPECT_EQ(model.find("v.u32")->as_integer(), 4294967295);
  EXPECT_EQ(model.find("v.i32")->as_integer(), -2147483648);
  EXPECT_EQ(model.find("v.u64")->as_unsigned(), UINT64_MAX);
  EXPECT_EQ(model.find("v.u64")->as_integer(), std::nullopt);
  EXPECT_EQ(model.find("v.i64")->as_integer(), INT64_MIN);
  EXPECT_EQ(model.find("v.f32")->as_float(), 1.5);
  EXPECT_EQ(model.find("v.f64")->as_float(), 1.5);
  EXPECT_EQ(model.find("v.f32")->as_integer(), std::nullopt);
  EXPECT_EQ(model.find("v.u8")->as_float(), std::nullopt);
  EXPECT_EQ(model.find("v.true")->as_bool(), true);
  EXPECT_EQ(model.find("v.false")->as_bool(), false);
  EXPECT_EQ(model.find("v.u8")->as_bool(), std::nullopt);
  EXPECT_EQ(model.find("v.string")->as_string(), "text");
  EXPECT_EQ(model.find("v.empty")->as_string(), "");
  EXPECT_EQ(model.find("v.string")->as_array().has_value(), false);
  EXPECT_FALSE(model.find("v"));
  EXPECT_FALSE(model.find("v.u8 "));
  EXPECT_EQ(model.metadata().at(0).key, "v.u8");
  EXPECT_EQ(model.metadata().offset_of("v.u8"), 24u);
  EXPECT_EQ(model.find("v.u64")->type(), ValueType::U64);
}

TEST(Metadata, Arrays) {
  const Model model = open_good("every_value_type");
  const auto numbers = model.find("v.numbers")->as_array();
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->element_type(), ValueType::U16);
  std::vector<std::uint64_t> seen;
  for (const Value value : *numbers) seen.push_back(*value.as_unsigned());
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 2, 3}));

  std::vector<std::string> texts;
  for (const Value value : elements(model, "v.strings")) texts.emplace_back(*value.as_string());
  EXPECT_EQ(texts, (std::vector<std::string>{"one", ""}));
  EXPECT_EQ(model.find("v.none")->as_array()->size(), 0u);

  std::string shape;
  for (const Value inner : elements(model, "v.nested")) {
    shape += "(";
    const auto values = inner.as_array();
    for (const Value value : *values) {
      if (value.as_unsigned()) shape += std::to_string(*value.as_unsigned());
      if (value.as_string()) shape += *value.as_string();
      if (value.as_array()) shape += "[" + std::to_string(value.as_array()->size()) + "]";
    }
    shape += ")";
  }
  EXPECT_EQ(shape, "(12)(in)([0])");
}

TEST(Types, EveryNumberHasItsPlace) {
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> plain = {
      {9, {32, 36}}, {15, {256, 292}}, {24, {1, 1}}, {25, {1, 2}}, {26, {1, 4}}, {27, {1, 8}}, {28, {1, 8}}};
  std::size_t weights = 0;
  for (const TypeInfo& info : tensor_types()) {
    EXPECT_EQ(find_type(info.id), &info);
    const FormatInfo* format = find_format(info.id);
    EXPECT_EQ(format != nullptr, info.kind == TypeKind::WEIGHT) << info.name;
    if (format != nullptr) {
      ++weights;
      EXPECT_EQ(format->name, info.name);
      EXPECT_EQ(format->block_elements, info.block_elements);
      EXPECT_EQ(format->block_bytes, info.block_bytes);
    } else if (info.kind != TypeKind::REMOVED) {
      ASSERT_TRUE(plain.contains(info.id)) << info.id;
      EXPECT_EQ(plain.at(info.id), std::pair(info.block_elements, info.block_bytes)) << info.id;
      plain.erase(info.id);
    }
  }
  EXPECT_TRUE(plain.empty());
  EXPECT_EQ(weights, formats().size());
  EXPECT_EQ(tensor_types().size(), weights + 7u + 8u);  // 0 to 42, none left out
  for (std::uint32_t id = 0; id < 43; ++id) EXPECT_NE(find_type(id), nullptr) << id;
  EXPECT_EQ(find_type(43), nullptr);
}

TEST(Tensors, EveryWeightFormatIsSizedByItsBlock) {
  for (const FormatInfo& format : formats()) {
    const std::uint64_t cols = 2 * std::uint64_t{format.block_elements};
    const std::size_t size = 6 * std::size_t{format.block_bytes};
    const RawFile file = {.entries = {entry("t", {cols, 3}, format.id, 0)}, .data = padded(repeat(n8(1), size))};
    const Bytes bytes = file.build();
    const auto model = Model::open_bytes(bytes);
    ASSERT_TRUE(model) << format.name << model.error().message;
    EXPECT_EQ(model->tensor(0).bytes.size(), size);
    EXPECT_EQ(model->tensor(0).format, &format);
    EXPECT_EQ(model->tensor(0).rows(), 3u);
    const auto matrix = model->matrix("t");
    ASSERT_TRUE(matrix);
    EXPECT_EQ(matrix->format, format.format);
  }
}

TEST(Tensors, AreViewsIntoTheFile) {
  const Bytes& bytes = good("three_tensors");
  const Model model = open_good("three_tensors");
  ASSERT_EQ(model.tensor_count(), 3u);
  const auto c = model.find_tensor("c");
  ASSERT_TRUE(c);
  EXPECT_EQ(c->bytes.data(), bytes.data() + c->offset);
  EXPECT_EQ(c->offset, 160u + 96u);  // the data starts at 160
  EXPECT_EQ(c->bytes.size(), 144u);
  EXPECT_EQ(c->dim_count, 1u);
  EXPECT_EQ(c->dims, (std::array<std::uint64_t, 4>{256, 1, 1, 1}));
  EXPECT_EQ(c->elements(), 256u);
  EXPECT_EQ(model.tensor_index("b"), 1u);
  EXPECT_FALSE(model.find_tensor("d"));
}

TEST(Tensors, SurviveAMove) {
  Model first = open_good("three_tensors");
  const TensorView before = first.tensor(2);
  const Model second = std::move(first);
  EXPECT_EQ(second.tensor(2).bytes.data(), before.bytes.data());
  EXPECT_EQ(second.tensor(2).name.data(), before.name.data());
}

TEST(Tensors, ScalarsAndEmptyOnes) {
  const Model scalar = open_good("dims_none");
  EXPECT_EQ(scalar.tensor(0).dim_count, 0u);
  EXPECT_EQ(scalar.tensor(0).elements(), 1u);
  EXPECT_EQ(scalar.matrix("t")->bytes.size(), 4u);

  const Model empty = open_good("rows_zero");
  EXPECT_EQ(empty.tensor(0).rows(), 0u);
  EXPECT_EQ(empty.tensor(0).matrices(), 0u);
  const auto matrix = empty.matrix("t");
  ASSERT_TRUE(matrix) << matrix.error().message;
  EXPECT_EQ(matrix->rows, 0u);
  EXPECT_EQ(matrix->cols, 32u);
  EXPECT_TRUE(matrix->bytes.empty());
  EXPECT_EQ(empty.matrix("t[0]").error().code, LW_ERROR_NOT_FOUND);

  const Model huge = open_good("dims_zero_times_huge");
  EXPECT_EQ(huge.tensor(0).rows(), 0u);
  EXPECT_EQ(huge.tensor(0).elements(), 0u);
  EXPECT_EQ(huge.matrix("t").error().code, LW_ERROR_UNSUPPORTED);
}

TEST(Matrices, OfATensorOfFourDimensions) {
  const Model model = open_good("four_dims");  // 32 x 2 x 3 x 2
  const TensorView tensor = model.tensor(0);
  EXPECT_EQ(tensor.matrices(), 6u);
  for (std::uint64_t i = 0; i < 6; ++i) {
    const auto matrix = model.matrix("t[" + std::to_string(i) + "]");
    ASSERT_TRUE(matrix) << matrix.error().message;
    EXPECT_EQ(matrix->rows, 2u);
    EXPECT_EQ(matrix->cols, 32u);
    EXPECT_EQ(matrix->bytes.size(), 36u);
    EXPECT_EQ(matrix->bytes.data(), tensor.bytes.data() + 36 * i);
  }
  EXPECT_EQ(model.matrix("t").error().code, LW_ERROR_ARGUMENT);
  EXPECT_NE(model.matrix("t").error().message.find("'t[0]'"), std::string::npos);
  for (const char* name : {"t[6]", "t[18446744073709551615]", "t[99999999999999999999999]"}) {
    EXPECT_EQ(model.matrix(name).error().code, LW_ERROR_NOT_FOUND) << name;
    EXPECT_NE(model.matrix(name).error().message.find("[0] to [5]"), std::string::npos) << name;
  }
  for (const char* name : {"t[]", "t[-1]", "t[0", "t0]", "t[0]]", "t[ 0]", "[0]", ""}) {
    EXPECT_EQ(model.matrix(name).error().code, LW_ERROR_NOT_FOUND) << name;
  }
}

TEST(Matrices, AnIndexOfAMatrixAndANameWithBrackets) {
  const Bytes bytes = RawFile{.entries = {entry("t[0]", {32, 2}, q4_0, 0), entry("u", {32, 1}, q4_0, 64)},
                              .data = repeat(padded(repeat(q4_0_block(), 2)), 2)}
                          .build();
  // The second tensor takes 18 bytes, padded to 32: the data is cut to that.
  const auto model = Model::open_bytes(std::span(bytes).first(bytes.size() - 32));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->matrix("t[0]")->rows, 2u);
  EXPECT_EQ(model->matrix("t[0][0]")->rows, 2u);
  EXPECT_EQ(model->matrix("u[0]")->rows, 1u);
  EXPECT_EQ(model->matrix("t").error().code, LW_ERROR_NOT_FOUND);
}

TEST(Matrices, OnlyOfWeights) {
  const Model data = open_good("plain_data");
  for (const char* name : {"i16", "i32", "i64", "f64"}) {
    EXPECT_EQ(data.matrix(name).error().code, LW_ERROR_NOT_A_WEIGHT) << name;
    EXPECT_EQ(data.find_tensor(name)->format, nullptr);
  }
  EXPECT_TRUE(data.matrix("f16"));
  const Model activations = open_good("activation_formats");
  EXPECT_EQ(activations.matrix("x1").error().code, LW_ERROR_NOT_A_WEIGHT);
  EXPECT_NE(activations.matrix("xk").error().message.find("q8_K"), std::string::npos);
}

TEST(Names, NearestAreSuggested) {
  RawFile file;
  std::uint64_t offset = 0;
  for (const char* name : {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.1.ffn_down.weight", "output.weight"}) {
    file.entries.push_back(entry(name, {32}, q4_0, offset));
    offset += 32;
  }
  file.data = repeat(padded(q4_0_block()), 4);
  const Bytes bytes = file.build();
  const auto model = Model::open_bytes(bytes);
  ASSERT_TRUE(model);
  const auto wrong = model->require_tensor("blk.0.atn_q.weight");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, LW_ERROR_NOT_FOUND);
  const std::string& message = wrong.error().message;
  EXPECT_NE(message.find("near to it: 'blk.0.attn_q.weight'"), std::string::npos) << message;
  EXPECT_EQ(model->require_tensor("zzz").error().message.find("near"), std::string::npos);
}

TEST(Names, CompanionScale) {
  const Model model = open_good("nvfp4_with_scale");
  const auto scale = model.companion_scale(*model.find_tensor("ffn.weight"));
  ASSERT_TRUE(scale);
  EXPECT_EQ(scale->name, "ffn.scale");
  EXPECT_FALSE(model.companion_scale(*scale));
}

TEST(Escape, Json) {
  EXPECT_EQ(escape_for_json("plain \xc3\xa9"), "plain \xc3\xa9");
  EXPECT_EQ(escape_for_json("a\"b\\c\n\x01\x7f"), "a\\\"b\\\\c\\u000a\\u0001\\u007f");
  EXPECT_EQ(escape_for_json("\xff\xfe\xe2\x80"), "\\ufffd\\ufffd\\ufffd\\ufffd");
  EXPECT_EQ(escape_for_json(std::string_view("\0", 1)), "\\u0000");
  EXPECT_EQ(escape_for_json("\xc0\xaf"), "\\ufffd\\ufffd");                        // an overlong slash
  EXPECT_EQ(escape_for_json("\xed\xa0\x80"), "\\ufffd\\ufffd\\ufffd");             // a surrogate
  EXPECT_EQ(escape_for_json("\xf4\x90\x80\x80"), "\\ufffd\\ufffd\\ufffd\\ufffd");  // above U+10FFFF
  EXPECT_EQ(escape_for_json("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
}

TEST(Escape, Terminal) {
  EXPECT_EQ(escape_for_terminal("a\x1b[31m\\\n\t\r"), "a\\x1b[31m\\\\\\n\\t\\x0d");
  EXPECT_EQ(escape_for_terminal("\xff\xc3\xa9"), "\\xff\xc3\xa9");
  EXPECT_EQ(escape_for_terminal("\xc2\x9b"), "\\u{009b}");            // a control sequence in one character
  EXPECT_EQ(escape_for_terminal("\xe2\x80\xae"), "\\u{202e}");        // right-to-left override
  EXPECT_EQ(escape_for_terminal("\xf3\xa0\x81\x81"), "\\u{0e0041}");  // an invisible tag
  EXPECT_EQ(escape_for_terminal("abcdef", 3), "abc...");
  EXPECT_EQ(escape_for_terminal("ab\xc3\xa9", 3), "ab...");
  EXPECT_EQ(escape_for_terminal("abc", 3), "abc");
}

}  // namespace
}  // namespace lanewise::gguf::test
