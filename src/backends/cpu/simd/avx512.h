// AVX-512 with VNNI and VBMI.
#pragma once
#define LW_TARGET avx512
#define LW_HAVE_TILES 0
#include "backends/cpu/simd/avx512.inc.h"
