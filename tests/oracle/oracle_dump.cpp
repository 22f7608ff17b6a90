// Reads rows of one format on stdin and writes the oracle's fp32 values on stdout, for check_packages.py.
// usage: oracle_dump ID; without ID a line a format: its name, ggml id, elements and bytes of a block.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "oracle/oracle.h"

int main(int argc, char** argv) {
  if (argc == 1) {
    for (int i = 0; i < lanewise::oracle::kFormatCount; ++i) {
      const lanewise::oracle::Facts& each = lanewise::oracle::all_facts()[i];
      std::printf("%s %d %d %d\n", each.name, each.id, each.block_elements, each.block_bytes);
    }
    return 0;
  }
  const int id = argc == 2 ? std::atoi(argv[1]) : -1;
  const lanewise::oracle::Facts* f = lanewise::oracle::facts(id);
  if (f == nullptr) {
    std::fprintf(stderr, "usage: oracle_dump ID, with the ggml id of a weight format\n");
    return 2;
  }
  std::vector<std::uint8_t> raw;
  std::uint8_t chunk[65536];
  for (std::size_t n; (n = std::fread(chunk, 1, sizeof chunk, stdin)) > 0;) raw.insert(raw.end(), chunk, chunk + n);
  if (raw.size() % static_cast<std::size_t>(f->block_bytes) != 0) {
    std::fprintf(stderr, "oracle_dump: %zu bytes are not whole %s blocks\n", raw.size(), f->name);
    return 2;
  }
  const std::size_t blocks = raw.size() / static_cast<std::size_t>(f->block_bytes);
  std::vector<float> out(blocks * static_cast<std::size_t>(f->block_elements));
  for (std::size_t k = 0; k < out.size(); ++k) {
    out[k] = lanewise::oracle::dequantized(id, raw.data(), static_cast<std::int64_t>(k));
  }
  return std::fwrite(out.data(), sizeof(float), out.size(), stdout) == out.size() ? 0 : 1;
}
