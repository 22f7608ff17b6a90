#include "gguf/types.h"

#include <algorithm>
#include <array>

namespace lanewise::gguf {
namespace {

constexpr auto make_table() {
  std::array table = {
#define LW_FORMAT(name, NAME, id, elements, bytes, group, dgroup, bits, kind, min, grid) \
  TypeInfo{id, #name, elements, bytes, TypeKind::WEIGHT},
#include "formats/formats.def"
#undef LW_FORMAT
#define LW_TENSOR_TYPE(name, id, elements, bytes, kind) TypeInfo{id, #name, elements, bytes, TypeKind::kind},
#include "gguf/tensor_types.def"
#undef LW_TENSOR_TYPE
  };
  std::ranges::sort(table, {}, &TypeInfo::id);
  return table;
}

constexpr auto table = make_table();

constexpr bool numbers_are_distinct() { return std::ranges::adjacent_find(table, {}, &TypeInfo::id) == table.end(); }
static_assert(numbers_are_distinct(), "formats.def and tensor_types.def share a type number");

}  // namespace

std::span<const TypeInfo> tensor_types() { return table; }

const TypeInfo* find_type(std::uint32_t id) {
  const auto found = std::ranges::lower_bound(table, id, {}, &TypeInfo::id);
  return found != table.end() && found->id == id ? &*found : nullptr;
}

}  // namespace lanewise::gguf
