#include "tune/tile.h"

#include <array>
#include <charconv>
#include <system_error>

#include "backends/cpu/cpu.h"

namespace lanewise::tune {
namespace {

constexpr std::uint32_t most_parts = 65536;

Error wrong(std::string_view text, const std::string& what) {
  return make_error(LW_ERROR_ARGUMENT, "'" + std::string(text.substr(0, 80)) + "' is no tile: " + what);
}

bool read(std::string_view text, std::uint32_t& out) {
  const auto end = std::from_chars(text.data(), text.data() + text.size(), out);
  return !text.empty() && end.ec == std::errc{} && end.ptr == text.data() + text.size();
}

// What stands before the next `mark`, which is taken off with it.
std::string_view next_of(std::string_view& rest, char mark) {
  const std::size_t end = rest.find(mark);
  const std::string_view piece = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return piece;
}

bool read_tiling(std::string_view text, std::array<std::uint32_t, 4>& out) {
  for (std::uint32_t& number : out) {
    if (text.ends_with('/') || !read(next_of(text, '/'), number)) return false;
  }
  return text.empty();
}

}  // namespace

std::string tile_text(std::string_view kernel, const Setting& setting) {
  std::string text(kernel);
  if (setting.tiling != std::array<std::uint32_t, 4>{}) {
    text += ":tile=";
    for (std::size_t i = 0; i < 4; ++i) text.append(i == 0 ? "" : "/").append(std::to_string(setting.tiling[i]));
  }
  if (setting.ahead != 0) text += ":ahead=" + std::to_string(setting.ahead);
  if (setting.parts != 0) text += ":parts=" + std::to_string(setting.parts);
  return text;
}

Result<TileName> parse_tile(std::string_view text) {
  std::string_view rest = text;
  TileName tile;
  tile.kernel = std::string(next_of(rest, ':'));
  if (tile.kernel.empty()) return wrong(text, "it begins with a kernel's name");
  if (text.ends_with(':')) return wrong(text, "nothing follows the last ':'");
  while (!rest.empty()) {
    std::string_view value = next_of(rest, ':');
    const std::string_view key = next_of(value, '=');
    Setting& setting = tile.setting;
    bool good = false;
    if (key == "ahead") {
      good = setting.ahead == 0 && read(value, setting.ahead) && setting.ahead != 0;
    } else if (key == "parts") {
      good = setting.parts == 0 && read(value, setting.parts) && setting.parts != 0;
    } else if (key == "tile") {
      good = setting.tiling == std::array<std::uint32_t, 4>{} && read_tiling(value, setting.tiling);
    } else {
      return wrong(text, "it has ahead=BYTES, parts=N and tile=A/B/C/D, not '" + std::string(key) + "'");
    }
    if (!good) return wrong(text, std::string(key) + " takes a whole number from 1 on, and tile four of them, once");
  }
  return tile;
}

Outcome check_setting(const KernelDesc& kernel, const Setting& setting, const gpu::Device* gpu) {
  const auto no = [&](const std::string& what) {
    return make_error(LW_ERROR_UNSUPPORTED, tile_text(kernel.name, setting) + ": " + what);
  };
  const bool has_tiling = setting.tiling != std::array<std::uint32_t, 4>{};
  if (gpu == nullptr) {
    if (has_tiling) return no("the CPU's kernels have no tiling");
    if (setting.parts > most_parts) return no("more than 65536 parts");
    if (setting.ahead == 0) return Done{};
    if (!prefetches_ahead(kernel)) return no("this kernel's prefetching has no distance");
    if (setting.ahead > most_ahead || setting.ahead % 64 != 0) {
      return no("a distance is a multiple of 64 bytes, 1048576 at most");
    }
    return Done{};
  }
  if (setting.ahead != 0 || setting.parts != 0) return no("ahead and parts are of the CPU's kernels");
  if (has_tiling && !gpu->takes_tiling(kernel, setting.tiling)) return no("the kernel doesn't take this tiling");
  return Done{};
}

Result<const KernelDesc*> kernel_called(std::string_view name, Format format, Layout layout, std::string_view backend,
                                        std::uint32_t capabilities, const gpu::Device* gpu) {
  const FormatInfo& info = format_info(format);
  const auto on = [&] {
    return std::string(backend) + " for " + std::string(info.name) + " in layout " + std::string(layout_name(layout));
  };
  for (const KernelDesc& kernel : kernels(backend)) {
    if (kernel.name != name || kernel.layout != layout || !accepts(kernel.formats, info)) continue;
    const bool is_here =
        gpu == nullptr ? is_built(kernel, format) : gpu->has_kernel(kernel, format) && gpu->has_layout(layout, format);
    if ((kernel.needs & ~capabilities) != 0 || !is_here) {
      return make_error(LW_ERROR_UNSUPPORTED, "kernel '" + std::string(name) + "' of " + on() + " can't run here");
    }
    return &kernel;
  }
  return make_error(LW_ERROR_NOT_FOUND,
                    "no kernel of " + on() + " is called '" + std::string(name.substr(0, 80)) + "'");
}

}  // namespace lanewise::tune
