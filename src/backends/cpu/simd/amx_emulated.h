// What amx.h is, for tests on processors without AMX.
#pragma once
#define LW_TARGET amx_emulated
#define LW_HAVE_TILES 1
#define LW_EMULATED_TILES 1
#include "backends/cpu/simd/avx512.inc.h"
//
#include "backends/cpu/simd/amx_tiles.inc.h"
