#include "backends/vulkan/self_test.h"

#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "arithmetic/scalar.h"
#include "formats/block.h"

namespace lanewise::vulkan {
namespace {

// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

// Scales of about 2^-7, so that neither a NaN nor an infinity hides what the rest does.
template <class T>
void tame(std::uint8_t* block, Random& random) {
  if constexpr (T::info.is_float()) {
    // Values of about 1: the exponent's bits alone are set.
    lw_u32 raw = static_cast<lw_u32>(random.next());
    if (T::info.format == Format::F32) raw = (raw & 0x807FFFFFu) | 0x3F000000u;
    if (T::info.format == Format::F16) raw = (raw & 0x83FFu) | 0x3800u;
    if (T::info.format == Format::BF16) raw = (raw & 0x807Fu) | 0x3F00u;
    std::memcpy(block, &raw, T::info.block_bytes);
  } else {
    for (lw_u32 dgroup = 0; dgroup < T::info.block_elements / T::info.dgroup; ++dgroup) {
      const auto low = static_cast<lw_u32>(random.next());
      lw_u32 scale = (low & 0x83FFu) | 0x2000u;
      if (T::info.kind == FormatKind::EXP) scale = 118 + low % 8;
      if (T::info.format == Format::NVFP4) scale = 0x20 + low % 32;
      write_field(
          block, T::d_parts, [dgroup](lw_u32 i) { return T::d_part(dgroup, i); }, scale);
      if constexpr (T::info.has_min) {
        write_field(
            block, T::m_parts, [dgroup](lw_u32 i) { return T::m_part(dgroup, i); }, (low >> 16 & 0x83FFu) | 0x2000u);
      }
    }
  }
}

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text.push_back(digits[byte >> 4]);
    text.push_back(digits[byte & 15]);
  }
  return text;
}

std::string cache_folder() {
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') return cache;
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache" : std::string();
}

}  // namespace

KnownProduct::KnownProduct(Format format, Layout layout, Planes planes, std::uint64_t token_count)
    : tokens(token_count) {
  MatrixView w{format, rows, cols, nullptr};
  raw.resize(w.bytes());
  Random random(format_info(format).id + 1);
  for (std::uint8_t& byte : raw) byte = static_cast<std::uint8_t>(random.next() >> 32);
  with_format(format, [&]<class T>(T) {
    for (std::uint64_t at = 0; at < raw.size(); at += T::info.block_bytes) tame<T>(raw.data() + at, random);
  });
  // Some rows of halves so small that a device may be tempted to flush them.
  if (format == Format::F16) {
    for (std::uint64_t row = 3; row < rows; row += 4) {
      for (std::uint64_t k = 0; k < cols; ++k) raw[(row * cols + k) * 2 + 1] &= 0x83;
    }
  }
  w.data = raw.data();
  packed.resize(packed_bytes(layout, w));
  pack_matrix(layout, w, 0, pack_units(layout, rows), packed.data());
  for (std::uint64_t i = 0; i < tokens * cols; ++i) {
    // Of all magnitudes between 2^-16 and 4.
    const std::uint64_t bits = random.next();
    const float value = static_cast<float>(static_cast<std::int32_t>(bits & 0xFFFFu) - 32768) * 0x1p-13F;
    x.push_back(bits >> 63 != 0 ? value : value * 0x1p-8F);
  }
  const auto activation = Activation::create(planes, tokens, cols);
  y.assign(tokens * rows, 0);
  if (activation && (*activation)->set({x.data(), Dtype::f32, tokens, cols, cols})) {
    gemv_scalar(w, **activation, {y.data(), Dtype::f32, rows}, 0, rows);
  }
}

void Verdicts::open(const Physical& physical) {
  const std::string folder = cache_folder();
  if (folder.empty()) return;
  (void)mkdir(folder.c_str(), 0700);
  (void)mkdir((folder + "/lanewise").c_str(), 0700);
  path_ = folder + "/lanewise/vulkan-" + hex(physical.device_uuid) + "-" + hex(physical.driver_uuid) + ".txt";
  std::ifstream file(path_);
  std::string verdict;
  std::string key;
  while (file >> verdict >> key) {
    if (verdict == "right" || verdict == "wrong") known_[key] = verdict == "right";
  }
}

const bool* Verdicts::find(const std::string& key) const {
  const auto found = known_.find(key);
  return found == known_.end() ? nullptr : &found->second;
}

void Verdicts::add(const std::string& key, bool is_right) {
  known_[key] = is_right;
  if (path_.empty()) return;
  // One write a line: lines of processes that test at once stay whole.
  std::ofstream file(path_, std::ios::app);
  file << ((is_right ? "right " : "wrong ") + key + "\n") << std::flush;
}

}  // namespace lanewise::vulkan
