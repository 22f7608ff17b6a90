// AVX-512 with AMX's tiles of bytes.
#pragma once
#define LW_TARGET amx
#define LW_HAVE_TILES 1
#define LW_EMULATED_TILES 0
#include "backends/cpu/simd/avx512.inc.h"
//
#include "backends/cpu/simd/amx_tiles.inc.h"
