#include "layout/layout.h"

#include <algorithm>
#include <cstring>

#include "layout/rows16.h"

namespace lanewise {
namespace {

// GGUF's own bytes: a unit is a row.
std::uint64_t raw_units(std::uint64_t rows) { return rows; }
std::uint64_t raw_bytes(const MatrixView& shape) { return shape.bytes(); }
void raw_pack(const MatrixView& raw, std::uint64_t begin, std::uint64_t end, std::uint8_t* out) {
  if (begin < end) std::memcpy(out + begin * raw.row_bytes(), raw.row(begin), (end - begin) * raw.row_bytes());
}
void raw_unpack(const MatrixView& shape, const std::uint8_t* packed, std::uint64_t begin, std::uint64_t end,
                std::uint8_t* out) {
  const std::uint64_t row = shape.row_bytes();
  if (begin < end) std::memcpy(out + begin * row, packed + begin * row, (end - begin) * row);
}

}  // namespace

std::uint64_t pack_units(Layout layout, std::uint64_t rows) {
  switch (layout) {
#define LW_CALL_HOST(name) return name##_units(rows);
#define LW_CALL_DEVICE(name) break;
#define LW_LAYOUT(name, packed) \
  case Layout::name:            \
    LW_CALL_##packed(name)
#include "layout/layouts.def"
#undef LW_LAYOUT
#undef LW_CALL_HOST
#undef LW_CALL_DEVICE
  }
  return 0;
}

std::uint64_t packed_bytes(Layout layout, const MatrixView& shape) {
  switch (layout) {
#define LW_CALL_HOST(name) return name##_bytes(shape);
#define LW_CALL_DEVICE(name) break;
#define LW_LAYOUT(name, packed) \
  case Layout::name:            \
    LW_CALL_##packed(name)
#include "layout/layouts.def"
#undef LW_LAYOUT
#undef LW_CALL_HOST
#undef LW_CALL_DEVICE
  }
  return 0;
}

void pack_matrix(Layout layout, const MatrixView& raw, std::uint64_t unit_begin, std::uint64_t unit_end,
                 std::uint8_t* out) {
  switch (layout) {
#define LW_CALL_HOST(name) return name##_pack(raw, unit_begin, unit_end, out);
#define LW_CALL_DEVICE(name) break;
#define LW_LAYOUT(name, packed) \
  case Layout::name:            \
    LW_CALL_##packed(name)
#include "layout/layouts.def"
#undef LW_LAYOUT
#undef LW_CALL_HOST
#undef LW_CALL_DEVICE
  }
}

void unpack_matrix(Layout layout, const MatrixView& shape, const std::uint8_t* packed_data, std::uint64_t unit_begin,
                   std::uint64_t unit_end, std::uint8_t* out) {
  switch (layout) {
#define LW_CALL_HOST(name) return name##_unpack(shape, packed_data, unit_begin, unit_end, out);
#define LW_CALL_DEVICE(name) break;
#define LW_LAYOUT(name, packed) \
  case Layout::name:            \
    LW_CALL_##packed(name)
#include "layout/layouts.def"
#undef LW_LAYOUT
#undef LW_CALL_HOST
#undef LW_CALL_DEVICE
  }
}

}  // namespace lanewise
