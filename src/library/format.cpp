#include <string>

#include "base/checked.h"
#include "formats/formats.h"
#include "library/edge.h"

namespace {

using namespace lanewise;  // NOLINT(google-build-using-namespace): the C interface stands outside it

// lw_format and formats.def are one list: neither has a number that the other lacks (tests/library counts them).
#define LW_FORMAT(name, NAME, id, elements, bytes, group, dgroup, bits, kind, min, grid) \
  static_assert(LW_##NAME == (id), "lw_format has another number for " #NAME);
#include "formats/formats.def"
#undef LW_FORMAT

lw_status fill_format(const FormatInfo& info, lw_format_info* out) {
  lw_format_info value = LW_FORMAT_INFO_INIT;
  value.format = static_cast<lw_format>(info.id);
  value.name = info.name.data();
  value.block_elements = info.block_elements;
  value.block_bytes = info.block_bytes;
  edge::fill(out, value);
  return LW_OK;
}

}  // namespace

uint32_t lw_format_count(void) { return static_cast<uint32_t>(formats().size()); }

lw_status lw_format_at(uint32_t index, lw_format_info* out) {
  if (!edge::has_known_size(out) || index >= formats().size()) return LW_ERROR_ARGUMENT;
  return fill_format(formats()[index], out);
}

lw_status lw_format_query(lw_format format, lw_format_info* out) {
  if (!edge::has_known_size(out)) return LW_ERROR_ARGUMENT;
  const FormatInfo* info = find_format(static_cast<std::uint32_t>(format));
  return info == nullptr ? LW_ERROR_NOT_FOUND : fill_format(*info, out);
}

lw_status lw_format_by_name(const char* name, lw_format* out) {
  if (name == nullptr || out == nullptr) return LW_ERROR_ARGUMENT;
  const FormatInfo* info = find_format(std::string_view(name));
  if (info == nullptr) return LW_ERROR_NOT_FOUND;
  *out = static_cast<lw_format>(info->id);
  return LW_OK;
}

lw_status lw_dequantize(lw_format format, const void* data, uint64_t bytes, uint64_t elements, float* out,
                        lw_error* error) {
  return edge::guarded(error, [&]() -> Outcome {
    const FormatInfo* info = find_format(static_cast<std::uint32_t>(format));
    if (info == nullptr) {
      return edge::argument_error("no format has the number " + std::to_string(static_cast<std::uint32_t>(format)));
    }
    if (elements % info->block_elements != 0) {
      return edge::argument_error(std::to_string(elements) + " elements are no whole blocks of " +
                                  std::to_string(info->block_elements) + " (" + info->name.data() + ")");
    }
    const auto needed = checked_mul(elements / info->block_elements, info->block_bytes);
    if (!needed || *needed != bytes) {
      return edge::argument_error(std::to_string(bytes) + " bytes given, " + std::to_string(elements) +
                                  " elements of " + info->name.data() + " have " +
                                  (needed ? std::to_string(*needed) : "more than 2^64"));
    }
    if (elements == 0) return Done{};
    if (data == nullptr || out == nullptr) return edge::argument_error("data or out is a null pointer");
    if (reinterpret_cast<std::uintptr_t>(out) % alignof(float) != 0) {
      return edge::argument_error("out is not aligned to its elements");
    }
    dequantize_row(info->format, static_cast<const std::uint8_t*>(data), elements, out);
    return Done{};
  });
}
