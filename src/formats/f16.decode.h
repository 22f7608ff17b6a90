// F16: plain values, one a block: IEEE binary16. `raw` holds the element's bytes, little-endian.
#ifndef LANEWISE_FORMATS_F16_DECODE_H
#define LANEWISE_FORMATS_F16_DECODE_H
#include "primitives.h"

#define LW_F16_ELEMENTS 1
#define LW_F16_BYTES 2
#define LW_F16_GROUP 1
#define LW_F16_DGROUP 1
#define LW_F16_LIMITED 0

LW_DECODE_BEGIN
LW_FN lw_float f16_value(lw_word raw) { return lw_half_to_float(raw); }
LW_DECODE_END

#endif
