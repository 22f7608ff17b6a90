// AVX2 without VNNI.
#pragma once
#define LW_TARGET avx2
#define LW_HAVE_AVXVNNI 0
#include "backends/cpu/simd/ymm.inc.h"
