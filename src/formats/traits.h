// Compile-time view of a format: its row of formats.def and the functions of its decode file under one set of names, so
// that code over any format is a template and nothing outside this folder switches over formats.
#pragma once

#include "formats/decode.h"
#include "formats/traits_row.h"

LW_DECODE_BEGIN

#define LW_FORMAT LW_TRAITS
#include "formats/formats.def"
#undef LW_FORMAT

/// Calls `visitor` with the Traits of `format`: the one switch over formats.
template <class Visitor>
constexpr decltype(auto) with_format(Format format, Visitor&& visitor) {
  switch (format) {
#define LW_FORMAT(name, NAME, id, elements, bytes, group, dgroup, bits, kind, min, grid) \
  case Format::NAME:                                                                     \
    return visitor(Traits<Format::NAME>{});
#include "formats/formats.def"
#undef LW_FORMAT
  }
  __builtin_unreachable();
}

LW_DECODE_END
