// A matrix of weights in GGUF's block layout, borrowed.
#pragma once

#include <cstdint>

#include "base/checked.h"
#include "formats/formats.h"

namespace lanewise {

/// `rows` rows of `cols` elements (K), each row `row_bytes` long, one after the other.
struct MatrixView {
  Format format = Format::F32;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  const std::uint8_t* data = nullptr;

  [[nodiscard]] const FormatInfo& info() const { return format_info(format); }
  [[nodiscard]] std::uint64_t row_bytes() const { return lanewise::row_bytes(info(), cols); }
  [[nodiscard]] std::uint64_t bytes() const { return rows * row_bytes(); }
  [[nodiscard]] const std::uint8_t* row(std::uint64_t index) const { return data + index * row_bytes(); }
};

}  // namespace lanewise
