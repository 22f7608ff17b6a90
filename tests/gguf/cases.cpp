#include "gguf/cases.h"

#include <utility>

namespace lanewise::gguf::test {
namespace {

const std::string big_name(70000, 'n');

Bytes alignment(std::uint64_t value) { return pair("general.alignment", u32_t, n32(value)); }
Bytes architecture() { return pair("general.architecture", string_t, string("llama")); }

// A file of one tensor "t" whose entry starts at byte 24.
RawFile one(const std::vector<std::uint64_t>& dims, std::uint32_t type, const Bytes& data, std::uint64_t offset = 0) {
  return {.entries = {entry("t", dims, type, offset)}, .data = data};
}
RawFile only_pair(const Bytes& bytes) { return {.pairs = {bytes}}; }

// Bytes of the file at which the fields of that entry stand.
constexpr std::uint64_t first = 24, dims_count_at = first + 9, dims_at = dims_count_at + 4;
constexpr std::uint64_t type_at(std::uint64_t dims) { return dims_at + 8 * dims; }
constexpr std::uint64_t offset_at(std::uint64_t dims) { return type_at(dims) + 4; }

struct List {
  std::vector<Case> cases;
  void loads(std::string name, const RawFile& file) {
    cases.push_back({std::move(name), file.build(), LW_OK, {}, {}, file.table().size()});
  }
  void refuses(std::string name, Bytes bytes, lw_status code, std::optional<std::uint64_t> offset = {},
               std::string says = {}) {
    cases.push_back({std::move(name), std::move(bytes), code, offset, std::move(says)});
  }
  void refuses(std::string name, const RawFile& file, lw_status code, std::optional<std::uint64_t> offset = {},
               std::string says = {}) {
    refuses(std::move(name), file.build(), code, offset, std::move(says));
  }
};

RawFile every_value_type() {
  return {.pairs = {pair("v.u8", u8_t, n8(200)), pair("v.i8", i8_t, n8(0x80)), pair("v.u16", u16_t, n16(65535)),
                    pair("v.i16", i16_t, n16(0x8000)), pair("v.u32", u32_t, n32(0xFFFFFFFF)),
                    pair("v.i32", i32_t, n32(0x80000000)), pair("v.f32", f32_t, n32(0x3FC00000)),
                    pair("v.true", bool_t, n8(1)), pair("v.false", bool_t, n8(0)),
                    pair("v.string", string_t, string("text")), pair("v.empty", string_t, string("")),
                    pair("v.u64", u64_t, n64(UINT64_MAX)), pair("v.i64", i64_t, n64(std::uint64_t{1} << 63)),
                    pair("v.f64", f64_t, n64(0x3FF8000000000000)),
                    pair("v.numbers", array_t, array(u16_t, 3, join({n16(1), n16(2), n16(3)}))),
                    pair("v.bools", array_t, array(bool_t, 2, join({n8(0), n8(1)}))),
                    pair("v.strings", array_t, array(string_t, 2, join({string("one"), string("")}))),
                    pair("v.none", array_t, array(f64_t, 0, {})),
                    pair("v.nested", array_t,
                         array(array_t, 3,
                               join({array(u8_t, 2, join({n8(1), n8(2)})), array(string_t, 1, string("in")),
                                     array(array_t, 1, array(i32_t, 0, {}))})))}};
}

// What vocabularies of other programs stumble over; nothing here reads a vocabulary.
std::vector<Bytes> vocabulary() {
  Bytes tokens;
  for (char c = '0'; c < '8'; ++c) tokens = join({tokens, string(std::string("<") + c + ">")});
  return {architecture(), pair("tokenizer.ggml.model", string_t, string("llama")),
          pair("tokenizer.ggml.tokens", array_t, array(string_t, 8, tokens))};
}

void add_policies(List* list) {
  // docs/gguf.md, "Choices": each of these could have been decided otherwise.
  list->loads("rows_zero", {.pairs = {architecture()}, .entries = {entry("t", {32, 0}, q4_0, 0)}});
  list->loads("dims_zero", one({0, 0}, f32, {}));
  list->loads("dims_zero_times_huge", one({0, std::uint64_t{1} << 60}, f32, {}));
  list->loads("dims_none", one({}, f32, repeat(n8(0), 32)));
  list->loads("string_not_utf8", only_pair(pair("general.name", string_t, string("\xff\xfe\xe2\x80"))));
  list->loads("string_with_null", only_pair(pair("general.name", string_t, string(std::string_view("a\0b", 3)))));
  list->loads("name_not_utf8",
              {.entries = {entry("\xc3\x28\x1b[31m", {32, 1}, q4_0, 0)}, .data = padded(q4_0_block())});
  list->loads("nested_16_deep", only_pair(pair("a.b", array_t, nested(15))));
  list->refuses("nested_17_deep", only_pair(pair("a.b", array_t, nested(16))), LW_ERROR_FILE_METADATA,
                24 + 15 + 15 * 12, "more than 16 deep");
  list->refuses("nested_100001_deep", only_pair(pair("a.b", array_t, nested(100000))), LW_ERROR_FILE_METADATA,
                24 + 15 + 15 * 12, "more than 16 deep");
  list->loads("padding_missing_at_end", one({32, 1}, q4_0, q4_0_block()));
  for (const auto& [name, half] :
       {std::pair("inf", 0x7C00u), std::pair("nan", 0x7E00u), std::pair("minus_inf", 0xFC00u)}) {
    list->loads(std::string("scale_") + name, one({32}, q4_0, padded(q4_0_block(half))));
  }
  list->loads("mxfp4_exponent_255", one({32}, mxfp4, padded(join({n8(255), repeat(n8(0x53), 16)}))));
  auto scores = vocabulary();
  scores.push_back(pair("tokenizer.ggml.scores", array_t, array(i8_t, 8, repeat(n8(0), 8))));
  list->loads("vocabulary_scores_i8", {.pairs = scores});
  list->loads("vocabulary_negative_byte_token",
              {.pairs = {architecture(), pair("tokenizer.ggml.tokens", array_t, array(string_t, 1, string("<0x-1>"))),
                         pair("tokenizer.ggml.token_type", array_t, array(i32_t, 1, n32(6)))}});
  list->loads("block_count_2e31", {.pairs = {architecture(), pair("llama.block_count", u32_t, n32(0x80000000))}});
  list->loads("offsets_not_in_table_order", {.entries = {entry("b", {32}, q4_0, 32), entry("a", {32}, q4_0, 0)},
                                             .data = repeat(padded(q4_0_block()), 2)});
  list->loads("split_count_0_is_whole", only_pair(pair("split.count", u16_t, n16(0))));
  list->loads("split_count_1_is_whole", only_pair(pair("split.count", u16_t, n16(1))));
  list->refuses("bytes_after_the_last_tensor", one({32}, q4_0, join({padded(q4_0_block()), n8(0)})),
                LW_ERROR_FILE_TENSOR, 96, "1 byte that nothing announces");
  list->refuses("first_tensor_not_at_0", one({32}, q4_0, repeat(padded(q4_0_block()), 2), 32), LW_ERROR_FILE_TENSOR,
                offset_at(1), "byte 0 is where the data starts");
}

std::vector<Case> make_good() {
  List list;
  list.loads("one_q4_0",
             {.pairs = {architecture()}, .entries = {entry("t", {32, 1}, q4_0, 0)}, .data = padded(q4_0_block())});
  list.loads("version_2", {.pairs = {architecture()},
                           .entries = {entry("t", {32, 1}, q4_0, 0)},
                           .data = padded(q4_0_block()),
                           .version = 2});
  list.loads("one_i8", {.pairs = {architecture()}, .entries = {entry("t", {32, 1}, i8, 0)}, .data = repeat(n8(1), 32)});
  list.loads("header_only", {});
  list.loads("header_only_unpadded", {.alignment = 0});
  list.loads("alignment_8", {.pairs = {alignment(8)},
                             .entries = {entry("a", {32}, q4_0, 0), entry("b", {32}, q4_0, 24)},
                             .data = repeat(padded(q4_0_block(), 8), 2),
                             .alignment = 8});
  list.loads("alignment_64", {.pairs = {alignment(64)},
                              .entries = {entry("t", {32}, q4_0, 0)},
                              .data = padded(q4_0_block(), 64),
                              .alignment = 64});
  for (const auto& [name, half] : {std::pair("least_subnormal", 1u), std::pair("greatest_subnormal", 0x3FFu),
                                   std::pair("minus_zero", 0x8000u), std::pair("greatest", 0x7BFFu)}) {
    list.loads(std::string("scale_") + name, one({32}, q4_0, padded(q4_0_block(half))));
  }
  for (const std::uint32_t exponent : {0u, 1u, 127u, 254u}) {
    list.loads("mxfp4_exponent_" + std::to_string(exponent),
               one({32}, mxfp4, padded(join({n8(exponent), repeat(n8(0xA4), 16)}))));
  }
  list.loads("iq2_xxs_all_ones", one({256}, iq2_xxs, padded(join({n16(0x3C00), repeat(n8(0xFF), 64)}))));
  list.loads("every_value_type", every_value_type());
  list.loads("four_dims", one({32, 2, 3, 2}, q4_0, padded(repeat(q4_0_block(), 12))));
  list.loads("three_tensors",
             {.entries = {entry("a", {32, 3}, q4_0, 0), entry("b", {4}, f32, 64), entry("c", {256}, q4_k, 96)},
              .data = join({padded(repeat(q4_0_block(), 3)), padded(repeat(n32(0x3F800000), 4)),
                            padded(repeat(n8(0x11), 144))})});
  list.loads("plain_data",
             {.entries = {entry("i16", {3}, i16, 0), entry("i32", {3}, i32, 32), entry("i64", {3}, i64, 64),
                          entry("f64", {3}, f64, 96), entry("f16", {3}, f16, 128)},
              .data = repeat(n8(7), 160)});
  list.loads("activation_formats", {.entries = {entry("x1", {32}, q8_1, 0), entry("xk", {256}, q8_k, 64)},
                                    .data = join({padded(repeat(n8(1), 36)), padded(repeat(n8(2), 292))})});
  list.loads("nvfp4_with_scale", {.entries = {entry("ffn.weight", {64}, nvfp4, 0), entry("ffn.scale", {1}, f32, 64)},
                                  .data = join({padded(repeat(n8(0x38), 36)), padded(n32(0x3F000000))})});
  list.loads("empty_between_others",
             {.entries = {entry("a", {32}, q4_0, 0), entry("none", {32, 0}, q4_0, 32), entry("b", {32}, q4_0, 32)},
              .data = repeat(padded(q4_0_block()), 2)});
  add_policies(&list);
  std::erase_if(list.cases, [](const Case& c) { return c.expected != LW_OK; });
  return list.cases;
}

void add_headers(List* list) {
  list->refuses("empty", Bytes{}, LW_ERROR_FILE_TRUNCATED, 0, "empty");
  list->refuses("magic_cut", text("GGU"), LW_ERROR_FILE_TRUNCATED, 0, "1 byte short");
  list->refuses("magic_other", RawFile{.magic = "FUGG"}, LW_ERROR_FILE_MAGIC, 0, "'FUGG'");
  list->refuses("magic_lower", RawFile{.magic = "gguf"}, LW_ERROR_FILE_MAGIC, 0);
  list->refuses("git_lfs_pointer", text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
                LW_ERROR_FILE_MAGIC, 0, "Git LFS");
  list->refuses("web_page", text("<!DOCTYPE html><html></html>"), LW_ERROR_FILE_MAGIC, 0, "web page");
  list->refuses("one_letter", text("x"), LW_ERROR_FILE_MAGIC, 0);
  list->refuses("big_endian", RawFile{.big_endian = true}, LW_ERROR_FILE_VERSION, 4, "big-endian");
  list->refuses("version_0", RawFile{.version = 0}, LW_ERROR_FILE_VERSION, 4, "version 0");
  list->refuses("version_1", RawFile{.version = 1}, LW_ERROR_FILE_VERSION, 4, "version 1");
  list->refuses("version_4", RawFile{.version = 4}, LW_ERROR_FILE_VERSION, 4, "newer");
  list->refuses("tensors_2e64", RawFile{.tensor_count = UINT64_MAX}, LW_ERROR_FILE_TRUNCATED, 8);
  list->refuses("tensors_2e63", RawFile{.tensor_count = std::uint64_t{1} << 63}, LW_ERROR_FILE_TRUNCATED, 8);
  list->refuses("pairs_2e64", RawFile{.pair_count = UINT64_MAX}, LW_ERROR_FILE_TRUNCATED, 16);
  list->refuses("pairs_500000000", RawFile{.pair_count = 500000000, .alignment = 0}, LW_ERROR_FILE_TRUNCATED, 16,
                "at least 7000000000 are missing");
}

void add_metadata(List* list) {
  const auto refuses = [list](std::string name, const Bytes& bytes, lw_status code, std::uint64_t offset,
                              std::string says = {}) {
    list->refuses(std::move(name), only_pair(bytes), code, offset, std::move(says));
  };
  refuses("key_empty", pair("", u8_t, n8(1)), LW_ERROR_FILE_METADATA, 24, "empty key");
  refuses("key_length_2e64", join({n64(UINT64_MAX), text("abcdefg")}), LW_ERROR_FILE_METADATA, 24);
  refuses("key_too_long", pair(big_name, u8_t, n8(1)), LW_ERROR_FILE_METADATA, 24, "70000 bytes");
  refuses("key_with_null", pair(std::string_view("a\0b", 3), u8_t, n8(1)), LW_ERROR_FILE_METADATA, 24, "null byte");
  refuses("key_past_the_end", join({n64(60000), text("abcdefg")}), LW_ERROR_FILE_TRUNCATED, 32);
  refuses("string_1_gib", pair("a.b", string_t, join({n64(1u << 30), text("x")})), LW_ERROR_FILE_TRUNCATED, 47);
  refuses("string_2e64", pair("a.b", string_t, join({n64(UINT64_MAX), text("x")})), LW_ERROR_FILE_TRUNCATED, 47);
  refuses("value_type_13", pair("a.b", 13, n64(0)), LW_ERROR_FILE_METADATA, 35, "type 13");
  refuses("value_type_2e32", pair("a.b", UINT32_MAX, n64(0)), LW_ERROR_FILE_METADATA, 35);
  refuses("bool_2", pair("a.b", bool_t, n8(2)), LW_ERROR_FILE_METADATA, 39, "neither 0 nor 1");
  refuses("bool_array_2", pair("a.b", array_t, array(bool_t, 3, join({n8(1), n8(0), n8(2)}))), LW_ERROR_FILE_METADATA,
          53);
  refuses("array_of_unknown", pair("a.b", array_t, array(77, 1, n8(0))), LW_ERROR_FILE_METADATA, 39, "type 77");
  refuses("array_2e58", pair("a.b", array_t, array(u32_t, std::uint64_t{1} << 58, {})), LW_ERROR_FILE_TRUNCATED, 51);
  refuses("array_wraps", pair("a.b", array_t, array(u64_t, std::uint64_t{1} << 61, {})), LW_ERROR_FILE_TRUNCATED, 51);
  refuses("array_of_strings_wraps", pair("a.b", array_t, array(string_t, std::uint64_t{1} << 61, {})),
          LW_ERROR_FILE_TRUNCATED, 51);
  refuses("array_of_arrays_2e64", pair("a.b", array_t, array(array_t, UINT64_MAX, array(u8_t, 0, {}))),
          LW_ERROR_FILE_TRUNCATED, 63);
  list->refuses("array_header_cut",
                RawFile{.pairs = {join({string("a.b"), n32(array_t), n32(u8_t), n32(0)})}, .alignment = 0},
                LW_ERROR_FILE_TRUNCATED, 39, "4 bytes short");
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{4}, std::uint64_t{33}, std::uint64_t{1} << 21, std::uint64_t{1} << 31}) {
    refuses("alignment_" + std::to_string(value), alignment(value), LW_ERROR_FILE_METADATA, 24, std::to_string(value));
  }
  refuses("alignment_u64", pair("general.alignment", u64_t, n64(32)), LW_ERROR_FILE_METADATA, 24, "type u64");
  refuses("alignment_string", pair("general.alignment", string_t, string("32")), LW_ERROR_FILE_METADATA, 24);
  list->refuses("key_twice", RawFile{.pairs = {pair("a", u8_t, n8(1)), pair("b", u8_t, n8(1)), pair("a", u8_t, n8(1))}},
                LW_ERROR_FILE_METADATA, 52, "'a' is there twice");
  refuses("shard_without_a_file_name", pair("split.count", u16_t, n16(2)), LW_ERROR_FILE_SPLIT, LW_NO_OFFSET,
          "split.no");
  refuses("split_count_float", pair("split.count", f32_t, n32(0)), LW_ERROR_FILE_SPLIT, 24);
  refuses("split_count_negative", pair("split.count", i16_t, n16(0xFFFF)), LW_ERROR_FILE_SPLIT, 24);
}

void add_tensors(List* list) {
  const Bytes block = padded(q4_0_block());
  const auto refuses = [list](std::string name, const RawFile& file, lw_status code, std::uint64_t offset,
                              std::string says = {}) {
    list->refuses(std::move(name), file, code, offset, std::move(says));
  };
  refuses("dims_5", one({32, 1, 1, 1, 1}, q4_0, block), LW_ERROR_FILE_TENSOR, dims_count_at, "5 dimensions");
  refuses("dims_2e32", {.entries = {entry("t", {32}, q4_0, 0, UINT32_MAX)}, .data = block}, LW_ERROR_FILE_TENSOR,
          dims_count_at);
  refuses("dim_negative", one({static_cast<std::uint64_t>(-32)}, q4_0, block), LW_ERROR_FILE_TENSOR, dims_at, "-32");
  refuses("elements_2e64", one({(std::uint64_t{1} << 63) - 1, 2}, i8, repeat(n8(0), 32)), LW_ERROR_FILE_TENSOR,
          dims_at + 8);
  refuses("zero_hides_a_wrap", one({std::uint64_t{1} << 40, 0, std::uint64_t{1} << 40}, f32, {}), LW_ERROR_FILE_TENSOR,
          dims_at + 16);
  refuses("elements_2e52", one({1152, (std::uint64_t{1} << 42) + 1}, q8_0, repeat(n8(0), 64)), LW_ERROR_FILE_TRUNCATED,
          160);
  refuses("bytes_2e64", one({std::uint64_t{1} << 62, 1}, f32, repeat(n8(0), 32)), LW_ERROR_FILE_TENSOR, dims_at);
  constexpr std::uint64_t half = 0x7FFFFFFFFFFFFFC0;
  refuses("sum_2e64",
          {.entries = {entry("a", {half}, i8, 0), entry("b", {half}, i8, half)}, .data = repeat(n8(0), 528)},
          LW_ERROR_FILE_TRUNCATED, 624);
  refuses("sum_wraps",
          {.entries = {entry("a", {half}, i8, 0), entry("b", {half}, i8, half), entry("c", {512}, i8, 2 * half)},
           .data = repeat(n8(0), 512)},
          LW_ERROR_FILE_TENSOR, 24 + 3 * 33 - 8, "2^64");
  for (const std::uint32_t type : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u}) {
    refuses("type_removed_" + std::to_string(type), one({32}, type, block), LW_ERROR_FILE_TYPE, type_at(1), "removed");
  }
  for (const std::uint32_t type : {43u, 99u, 0x80000000u}) {
    refuses("type_unknown_" + std::to_string(type), one({32}, type, block), LW_ERROR_FILE_TYPE, type_at(1),
            "tensor 't' is of type " + std::to_string(type));
  }
  refuses("cols_no_blocks", one({33, 1}, q4_0, repeat(n8(0), 64)), LW_ERROR_FILE_TENSOR, dims_at, "33 elements");
  refuses("cols_split_over_rows", one({16, 2}, q4_0, block), LW_ERROR_FILE_TENSOR, dims_at);
  refuses("scalar_q4_0", one({}, q4_0, block), LW_ERROR_FILE_TENSOR, dims_at);
  refuses("offset_2e40", one({32}, q4_0, block, std::uint64_t{1} << 40), LW_ERROR_FILE_TENSOR, offset_at(1));
  refuses("offset_near_2e64", one({32}, q4_0, block, UINT64_MAX - 31), LW_ERROR_FILE_TENSOR, offset_at(1));
  refuses("offset_wraps", one({64}, q4_0, block, UINT64_MAX - 31), LW_ERROR_FILE_TENSOR, offset_at(1), "2^64");
  refuses("offset_7", one({32}, q4_0, join({block, block}), 7), LW_ERROR_FILE_TENSOR, offset_at(1), "alignment, 32");
  const RawFile twice = {.entries = {entry("t", {32}, q4_0, 0), entry("t", {32}, q4_0, 32)},
                         .data = join({block, block})};
  refuses("name_twice", twice, LW_ERROR_FILE_TENSOR, 24 + 33, "'t' is there twice");
  refuses("name_empty", {.entries = {entry("", {32}, q4_0, 0)}, .data = block}, LW_ERROR_FILE_TENSOR, 24, "no name");
  refuses("name_with_null", {.entries = {entry(std::string_view("a\0b", 3), {32}, q4_0, 0)}, .data = block},
          LW_ERROR_FILE_TENSOR, 24, "null byte");
  refuses("name_too_long", {.entries = {entry(big_name, {32}, q4_0, 0)}, .data = block}, LW_ERROR_FILE_TENSOR, 24);
  refuses("name_past_the_end", {.entries = {join({n64(60000), text("abcdefghijklmnopqrs")})}}, LW_ERROR_FILE_TRUNCATED,
          32);
  refuses("tensors_overlap",
          {.entries = {entry("a", {64}, q4_0, 0), entry("b", {32}, q4_0, 32)}, .data = join({block, block})},
          LW_ERROR_FILE_TENSOR, 24 + 33 + 25, "inside tensor 'a'");
  refuses("tensors_at_one_place", {.entries = {entry("a", {32}, q4_0, 0), entry("b", {32}, q4_0, 0)}, .data = block},
          LW_ERROR_FILE_TENSOR, 24 + 33 + 25);
  refuses("gap_between_tensors",
          {.entries = {entry("a", {32}, q4_0, 0), entry("b", {32}, q4_0, 64)}, .data = repeat(block, 3)},
          LW_ERROR_FILE_TENSOR, 24 + 33 + 25, "byte 32 is where tensor 'a' ends");
  refuses("empty_past_the_data", {.entries = {entry("a", {32}, q4_0, 0), entry("none", {0}, f32, 64)}, .data = block},
          LW_ERROR_FILE_TENSOR, 24 + 33 + 28);
  // A q2_0 of 128 elements in 34 bytes: 4096 of them take 1088 bytes, ours 1152; the other way about for 40 bytes.
  refuses("foreign_q2_0_smaller",
          {.entries = {entry("a", {4096}, q2_0, 0), entry("b", {32}, q4_0, 1088)},
           .data = join({repeat(n8(0), 1088), block})},
          LW_ERROR_FILE_TENSOR, 24 + 33 + 25, "blocks are of another size");
  refuses("foreign_q2_0_larger",
          {.entries = {entry("a", {4096}, q2_0, 0), entry("b", {32}, q4_0, 1280)},
           .data = join({repeat(n8(0), 1280), block})},
          LW_ERROR_FILE_TENSOR, 24 + 33 + 25, "blocks are of another size");
  refuses("foreign_q2_0_last", one({4096}, q2_0, repeat(n8(0), 1280)), LW_ERROR_FILE_TENSOR, 64 + 1152, "'t'");

  const RawFile sound = one({32, 1}, q4_0, q4_0_block());
  Bytes cut = sound.build();
  cut.pop_back();
  list->refuses("last_byte_missing", cut, LW_ERROR_FILE_TRUNCATED, cut.size(),
                "ends 1 byte before the end of tensor 't'");
}

std::vector<Case> make_refused() {
  List list;
  add_headers(&list);
  add_metadata(&list);
  add_tensors(&list);
  add_policies(&list);
  std::erase_if(list.cases, [](const Case& c) { return c.expected == LW_OK; });
  return list.cases;
}

}  // namespace

const std::vector<Case>& good_cases() {
  static const std::vector<Case> cases = make_good();
  return cases;
}

const std::vector<Case>& refused_cases() {
  static const std::vector<Case> cases = make_refused();
  return cases;
}

std::vector<NamedFile> shards(const SplitPlan& plan) {
  std::vector<NamedFile> out;
  for (std::size_t i = 0; i < plan.no.size(); ++i) {
    RawFile file;
    if (i == 0) file.pairs.push_back(architecture());
    file.pairs.push_back(pair("split.no", u16_t, n16(plan.no[i])));
    file.pairs.push_back(pair("split.count", u16_t, n16(plan.count[i])));
    file.pairs.push_back(pair("split.tensors.count", i32_t, n32(plan.total[i])));
    file.entries.push_back(entry(plan.tensors[i], {32}, q4_0, 0));
    file.data = padded(q4_0_block());
    out.push_back({"m-0000" + std::to_string(i + 1) + "-of-00003.gguf", file.build()});
  }
  return out;
}

}  // namespace lanewise::gguf::test
