// Whether a product's pipeline gives the right bits on this device, found out before it is first used: a driver may
// take a shader and not run it, or run it with another arithmetic than it promised.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "arithmetic/activation.h"
#include "backends/vulkan/physical.h"
#include "formats/matrix_view.h"
#include "layout/layout.h"

namespace lanewise::vulkan {

/// A small product with its answer: weights of every bit pattern but for scales, which are kept ordinary.
struct KnownProduct {
  static constexpr std::uint64_t rows = 21;
  static constexpr std::uint64_t cols = 768;
  std::uint64_t tokens;
  std::vector<std::uint8_t> raw;     ///< GGUF's bytes
  std::vector<std::uint8_t> packed;  ///< in the layout
  std::vector<float> x;
  std::vector<float> y;  ///< [tokens][rows], by the scalar kernel

  KnownProduct(Format format, Layout layout, Planes planes, std::uint64_t tokens);
};

/// Verdicts of earlier runs, by driver: in $XDG_CACHE_HOME/lanewise, or ~/.cache/lanewise; none where neither can be
/// written, which costs only time.
class Verdicts {
 public:
  /// Reads what is known of this device under this driver.
  void open(const Physical& physical);
  /// Null: nothing is known of a pipeline of that name and shader.
  [[nodiscard]] const bool* find(const std::string& key) const;
  void add(const std::string& key, bool is_right);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::map<std::string, bool> known_;
};

}  // namespace lanewise::vulkan
