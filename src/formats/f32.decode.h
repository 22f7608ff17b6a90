// F32: plain values, one a block: IEEE binary32. `raw` holds the element's bytes, little-endian.
#ifndef LANEWISE_FORMATS_F32_DECODE_H
#define LANEWISE_FORMATS_F32_DECODE_H
#include "primitives.h"

#define LW_F32_ELEMENTS 1
#define LW_F32_BYTES 4
#define LW_F32_GROUP 1
#define LW_F32_DGROUP 1
#define LW_F32_LIMITED 1

LW_DECODE_BEGIN
LW_FN lw_float f32_value(lw_word raw) { return LW_AS_FLOAT(raw); }
LW_DECODE_END

#endif
