// Breaks every compiler on purpose: a primitive that isn't there.
#include "primitives.h"
LW_DECODE_BEGIN
LW_FN lw_u32 broken_use(lw_u32 word) { return lw_no_such_primitive(word); }
LW_DECODE_END
