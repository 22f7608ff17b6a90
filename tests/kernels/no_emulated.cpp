#include "kernels/emulated.h"

namespace lanewise::test {

std::span<const KernelDesc> emulated_kernels() { return {}; }

}  // namespace lanewise::test
