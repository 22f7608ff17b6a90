// Any bytes give a model or an error, and a model's every part can be read. The target behind `./dev fuzz`.
#include <cstddef>
#include <cstdint>

#include "gguf/reader.h"
#include "gguf/walk.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanewise;
  const auto model = gguf::Model::open_bytes({data, size});
  if (model) {
    volatile std::uint64_t sum = gguf::test::walk(*model);
    (void)sum;
    return 0;
  }
  const Error& error = model.error();
  const bool of_the_file = error.code >= LW_ERROR_FILE_MAGIC && error.code <= LW_ERROR_FILE_SPLIT;
  const bool placed = error.offset == Error::no_offset || error.offset <= size;
  if (!of_the_file || !placed || error.message.empty() || error.message.size() >= sizeof(lw_error::message)) {
    __builtin_trap();
  }
  return 0;
}
