// BF16: plain values, one a block: the high half of a binary32. `raw` holds the element's bytes, little-endian.
#ifndef LANEWISE_FORMATS_BF16_DECODE_H
#define LANEWISE_FORMATS_BF16_DECODE_H
#include "primitives.h"

#define LW_BF16_ELEMENTS 1
#define LW_BF16_BYTES 2
#define LW_BF16_GROUP 1
#define LW_BF16_DGROUP 1
#define LW_BF16_LIMITED 1

LW_DECODE_BEGIN
LW_FN lw_float bf16_value(lw_word raw) { return LW_AS_FLOAT(raw << 16u); }
LW_DECODE_END

#endif
