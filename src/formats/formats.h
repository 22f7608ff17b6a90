// The registry of weight formats: formats.def as C++ sees it. Run-time facts here; what the bits mean, in traits.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lanewise {

enum class Format : std::uint32_t {
#define LW_FORMAT(name, NAME, id, elements, bytes, group, dgroup, bits, kind, min, grid) NAME = id,
#include "formats/formats.def"
#undef LW_FORMAT
};

/// HALF: the scale d is a float. EXP: d is a power of two, held as its exponent. FLOAT: no codes, plain values.
enum class FormatKind : std::uint8_t { HALF, EXP, FLOAT };

struct FormatInfo {
  Format format;
  std::string_view name;  ///< ggml's spelling ("q4_K"); null-terminated
  std::uint32_t id;       ///< ggml's type number
  std::uint32_t block_elements;
  std::uint32_t block_bytes;
  std::uint32_t group;      ///< elements that share an integer sub-scale (and sub-min)
  std::uint32_t dgroup;     ///< elements that share d (and m)
  std::uint32_t code_bits;  ///< bits of a stored code
  FormatKind kind;
  bool has_min;
  bool has_grid;

  [[nodiscard]] constexpr bool is_float() const { return kind == FormatKind::FLOAT; }
  [[nodiscard]] constexpr double bits_per_weight() const { return 8.0 * block_bytes / block_elements; }
};

/// Every format, in the table's order.
std::span<const FormatInfo> formats();
const FormatInfo& format_info(Format format);
/// By ggml's type number; nullptr where it is none of ours.
const FormatInfo* find_format(std::uint32_t id);
/// By name, upper and lower case alike; nullptr where it is none of ours.
const FormatInfo* find_format(std::string_view name);

/// Bytes of a row of `cols` elements; `cols` must be a multiple of the block's elements.
std::uint64_t row_bytes(const FormatInfo& info, std::uint64_t cols);

/// Decodes `cols` elements (whole blocks) that start at `row` to fp32: (d*sc)*c + (m*mn), every product exact, the sum
/// rounded once; NaN as 0x7FC00000. The host's rounding mode and flush-to-zero settings change nothing.
void dequantize_row(Format format, const std::uint8_t* row, std::uint64_t cols, float* out);

}  // namespace lanewise
