#include "gguf/split.h"

#include <string_view>

#include "gguf/cursor.h"

namespace lanewise::gguf {
namespace {

constexpr std::string_view no_key = "split.no";
constexpr std::string_view count_key = "split.count";
constexpr std::string_view tensors_key = "split.tensors.count";
constexpr std::string_view extension = ".gguf";
constexpr std::size_t least_digits = 5;
constexpr std::size_t most_digits = 9;

Result<std::uint64_t> read_number(const Metadata& metadata, std::string_view key) {
  const auto value = metadata.find(key);
  if (!value) {
    return make_error(LW_ERROR_FILE_SPLIT, "the file is a shard of a split model but has no " + std::string(key));
  }
  const auto number = value->as_unsigned();
  if (!number) {
    return make_error(LW_ERROR_FILE_SPLIT, std::string(key) + " is no integer of 0 or more", *metadata.offset_of(key));
  }
  return *number;
}

// Takes digits off the end of `text`; nothing where there are too few or too many.
std::optional<std::uint64_t> take_number(std::string_view* text) {
  std::size_t start = text->size();
  while (start > 0 && (*text)[start - 1] >= '0' && (*text)[start - 1] <= '9') --start;
  const std::string_view digits = text->substr(start);
  if (digits.size() < least_digits || digits.size() > most_digits) return std::nullopt;
  std::uint64_t value = 0;
  for (const char digit : digits) value = value * 10 + static_cast<std::uint64_t>(digit - '0');
  text->remove_suffix(digits.size());
  return value;
}

bool take_text(std::string_view* text, std::string_view end) {
  if (!text->ends_with(end)) return false;
  text->remove_suffix(end.size());
  return true;
}

std::string padded(std::uint64_t value) {
  std::string digits = number(value);
  return std::string(least_digits - std::min(least_digits, digits.size()), '0') + digits;
}

}  // namespace

Result<std::optional<SplitInfo>> read_split(const Metadata& metadata) {
  if (!metadata.find(count_key)) return std::optional<SplitInfo>();
  SplitInfo out;
  LW_ASSIGN(count, read_number(metadata, count_key));
  out.count = count;
  if (count <= 1) return std::optional<SplitInfo>();
  LW_ASSIGN(no, read_number(metadata, no_key));
  out.no = no;
  if (no >= count) {
    return make_error(LW_ERROR_FILE_SPLIT, "split.no is " + number(no) + " of " + count_of(count, "shard"),
                      *metadata.offset_of(no_key));
  }
  LW_ASSIGN(tensors, read_number(metadata, tensors_key));
  out.tensors = tensors;
  return std::optional(out);
}

std::optional<ShardName> parse_shard_name(const std::string& path) {
  std::string_view rest = path;
  ShardName out;
  if (!take_text(&rest, extension)) return std::nullopt;
  const auto count = take_number(&rest);
  if (!count || !take_text(&rest, "-of-")) return std::nullopt;
  const auto number = take_number(&rest);
  if (!number || !take_text(&rest, "-")) return std::nullopt;
  out.stem = rest;
  out.number = *number;
  out.count = *count;
  return out;
}

std::string shard_path(const ShardName& name, std::uint64_t number) {
  return name.stem + "-" + padded(number) + "-of-" + padded(name.count) + std::string(extension);
}

std::string file_name(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace lanewise::gguf
