#include "arithmetic/columns.h"

#include <algorithm>
#include <cstring>

#include "arithmetic/activation.h"

namespace lanewise {

void make_columns(const Activation& x, std::uint64_t first, std::uint32_t tokens, std::uint8_t* out) {
  const std::uint32_t planes = plane_count(x.planes());
  const std::uint32_t batch = batch_tokens(tokens, planes);
  const std::uint32_t batches = slice_batches(tokens, planes);
  const ColumnOffsets at(batch, planes);
  std::memset(out, 0, x.blocks() * batches * at.bytes);
  for (std::uint32_t i = 0; i < tokens; ++i) {
    const NaturalToken token = x.natural(first + i);
    const std::uint64_t t = i % batch;
    for (std::uint64_t b = 0; b < x.blocks(); ++b) {
      std::uint8_t* record = out + (b * batches + i / batch) * at.bytes;
      auto* sums16 = reinterpret_cast<std::int32_t*>(record + at.sums16) + t * planes * 16;
      auto* sums32 = reinterpret_cast<std::int32_t*>(record + at.sums32) + t * planes * 8;
      auto* joined16 = reinterpret_cast<std::int32_t*>(record + at.joined16) + t * 16;
      auto* joined32 = reinterpret_cast<std::int32_t*>(record + at.joined32) + t * 8;
      for (std::uint32_t p = 0; p < planes; ++p) {
        std::memcpy(record + (t * planes + p) * 256, token.plane(p) + b * 256, 256);
        const std::int32_t* sums = token.plane_sums(p) + b * 16;
        for (std::uint32_t s = 0; s < 16; ++s) {
          sums16[p * 16 + s] = sums[s];
          sums32[p * 8 + s / 2] += sums[s];
          if (planes == 3) continue;
          const std::int32_t weight = p == 0 ? 1 : 256;
          joined16[s] += weight * sums[s];
          joined32[s / 2] += weight * sums[s];
        }
      }
      reinterpret_cast<std::int32_t*>(record + at.exponents)[t] = token.exponents[b];
      reinterpret_cast<float*>(record + at.powers)[t] = token.powers[b];
    }
  }
}

}  // namespace lanewise
