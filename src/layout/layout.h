// The registry of layouts: layouts.def as C++ sees it.
#pragma once

#include <cstdint>
#include <string_view>

#include "formats/matrix_view.h"

namespace lanewise {

enum class Layout : std::uint8_t {
#define LW_LAYOUT(name, packed) name,
#include "layout/layouts.def"
#undef LW_LAYOUT
};

/// Packed by the functions below, in host memory; otherwise by the backend that has the layout.
constexpr bool is_packed_by_host(Layout layout) {
  enum Packed : std::uint8_t { DEVICE, HOST };
  constexpr Packed by[] = {
#define LW_LAYOUT(name, packed) packed,
#include "layout/layouts.def"
#undef LW_LAYOUT
  };
  return by[static_cast<std::uint8_t>(layout)] == HOST;
}

constexpr std::string_view layout_name(Layout layout) {
  switch (layout) {
#define LW_LAYOUT(name, packed) \
  case Layout::name:            \
    return #name;
#include "layout/layouts.def"
#undef LW_LAYOUT
  }
  return "?";
}

/// Float formats hold no codes to be moved: they are read raw only.
constexpr bool has_layout(Layout layout, const FormatInfo& info) { return layout == Layout::raw || !info.is_float(); }

// Packing, unit by unit, so that threads can share it. A layout is made for has_layout() formats; those that a device
// packs have no unit and no byte here.

/// How many units a matrix of `rows` rows is packed in.
std::uint64_t pack_units(Layout layout, std::uint64_t rows);
/// Bytes of the whole packed matrix.
std::uint64_t packed_bytes(Layout layout, const MatrixView& shape);
/// Packs units unit_begin .. unit_end-1 of a raw matrix; `out` is the first byte of the whole packed one, 64-byte
/// aligned for kernels' sake.
void pack_matrix(Layout layout, const MatrixView& raw, std::uint64_t unit_begin, std::uint64_t unit_end,
                 std::uint8_t* out);
/// The inverse: the rows of the same units back to GGUF's bytes.
void unpack_matrix(Layout layout, const MatrixView& shape, const std::uint8_t* packed, std::uint64_t unit_begin,
                   std::uint64_t unit_end, std::uint8_t* out);

}  // namespace lanewise
