// Here, below the backends, since their devices ask it too: a library that knew all of them would come after.
#include "kernels/kernel.h"

namespace lanewise {

bool is_built(const KernelDesc& kernel, Format format) {
  return kernel.launch != nullptr || (kernel.launch_on_cuda != nullptr && kernel.launch_on_cuda(format) != nullptr) ||
         (kernel.has_shader != nullptr && kernel.has_shader(kernel, format));
}

}  // namespace lanewise
