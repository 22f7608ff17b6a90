// dequant_dump FORMAT: raw blocks on standard input, their elements as fp32 on standard output. What the Python scripts
// beside it compare with other decoders.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "formats/formats.h"

int main(int count, char** arguments) {
  const lanewise::FormatInfo* info = count == 2 ? lanewise::find_format(arguments[1]) : nullptr;
  if (info == nullptr) {
    std::fprintf(stderr, "usage: dequant_dump FORMAT < blocks > values\n");
    return 2;
  }
  std::vector<std::uint8_t> bytes(std::size_t{4096} * info->block_bytes);
  std::vector<float> values(std::size_t{4096} * info->block_elements);
  for (;;) {
    const std::size_t got = std::fread(bytes.data(), 1, bytes.size(), stdin);
    if (got == 0) break;
    if (got % info->block_bytes != 0) {
      std::fprintf(stderr, "dequant_dump: %zu bytes are left over; a %s block has %u\n", got % info->block_bytes,
                   info->name.data(), info->block_bytes);
      return 1;
    }
    const std::size_t elements = got / info->block_bytes * info->block_elements;
    lanewise::dequantize_row(info->format, bytes.data(), elements, values.data());
    if (std::fwrite(values.data(), sizeof(float), elements, stdout) != elements) {
      std::fprintf(stderr, "dequant_dump: the output could not be written\n");
      return 1;
    }
  }
  return 0;
}
