#include "formats/formats.h"

#include <algorithm>
#include <array>

#include "formats/traits.h"

namespace lanewise {
namespace {

constexpr std::array table = {
#define LW_FORMAT(name, NAME, id, elements, bytes, group, dgroup, bits, kind, min, grid) Traits<Format::NAME>::info,
#include "formats/formats.def"
#undef LW_FORMAT
};

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::span<const FormatInfo> formats() { return table; }

const FormatInfo* find_format(std::uint32_t id) {
  const auto found = std::ranges::find(table, id, &FormatInfo::id);
  return found == table.end() ? nullptr : &*found;
}

const FormatInfo* find_format(std::string_view name) {
  const auto same = [name](const FormatInfo& info) { return std::ranges::equal(info.name, name, {}, lower, lower); };
  const auto found = std::ranges::find_if(table, same);
  return found == table.end() ? nullptr : &*found;
}

const FormatInfo& format_info(Format format) { return *find_format(static_cast<std::uint32_t>(format)); }

std::uint64_t row_bytes(const FormatInfo& info, std::uint64_t cols) {
  return cols / info.block_elements * info.block_bytes;
}

}  // namespace lanewise
