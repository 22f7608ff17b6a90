// Armv8.2's NEON with dotprod.
#pragma once
#define LW_TARGET neon
#define LW_HAVE_I8MM 0
#include "backends/cpu/simd/neon.inc.h"
