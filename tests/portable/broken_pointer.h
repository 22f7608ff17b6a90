// Breaks the portable subset on purpose: a table handed on as a pointer. C++ takes it; GLSL has no pointers, and in
// Metal the table lies in another address space.
#include "primitives.h"
LW_DECODE_BEGIN
LW_TABLE_BEGIN(broken_table, 2)
1u, 2u LW_TABLE_END LW_FN lw_u32 broken_first(const lw_u32* table) { return table[0]; }
LW_FN lw_u32 broken_use(lw_u32 index) { return broken_first(broken_table) + index; }
LW_DECODE_END
