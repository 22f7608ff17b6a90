// AVX2 with AVX-VNNI.
#pragma once
#define LW_TARGET avxvnni
#define LW_HAVE_AVXVNNI 1
#include "backends/cpu/simd/ymm.inc.h"
