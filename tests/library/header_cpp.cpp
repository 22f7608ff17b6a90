// lanewise.h in the C++ standard that the build asks for.
#include <lanewise/lanewise.h>

#if LANEWISE_EXPECTED_STANDARD == 11 && __cplusplus != 201103L
#error "not C++11"
#elif LANEWISE_EXPECTED_STANDARD == 17 && __cplusplus != 201703L
#error "not C++17"
#elif LANEWISE_EXPECTED_STANDARD == 20 && __cplusplus < 202002L
#error "not C++20"
#endif

static_assert(sizeof(lw_status) == 4, "an enum of 32 bits");
lw_error header_cpp();
lw_error header_cpp() { return LW_ERROR_INIT; }
