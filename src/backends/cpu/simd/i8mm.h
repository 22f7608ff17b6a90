// The same with i8mm: products of unsigned by signed bytes.
#pragma once
#define LW_TARGET i8mm
#define LW_HAVE_I8MM 1
#include "backends/cpu/simd/neon.inc.h"
