#include "harness/sweep.h"

#include <algorithm>
#include <utility>

#include "kernels/kernel.h"

namespace lanewise {
namespace {

// A kernel that the device has for the format, by its full name.
struct Runnable {
  Layout layout;
  Planes planes;
  std::string name;
  std::span<const gpu::Tiling> tilings;
};

std::vector<Runnable> runnable(const gpu::Device& device, const SweepWish& wish, Planes planes) {
  std::vector<Runnable> list;
  const FormatInfo& info = format_info(wish.format);
  for (const KernelDesc& kernel : kernels(device.info().backend)) {
    const std::string name = kernel_name(kernel, info, planes);
    const bool wanted = wish.kernel.empty() || wish.kernel == name || wish.kernel == kernel.name;
    const bool here = accepts(kernel.formats, info) && (kernel.needs & ~device.capabilities()) == 0 &&
                      std::ranges::count(wish.layouts, kernel.layout) != 0 &&
                      device.has_layout(kernel.layout, wish.format);
    if (wanted && here) list.push_back({kernel.layout, planes, name, device.tilings(kernel)});
  }
  return list;
}

bool can_overlap(const gpu::Device& device) { return (device.capabilities() & CAP_SM90) != 0; }

// Of the windows asked for: the narrowest, one that pads to four, the widest of one slice, the widest.
std::vector<std::uint64_t> chosen_windows(std::vector<std::uint64_t> tokens) {
  std::ranges::sort(tokens);
  std::vector<std::uint64_t> chosen{tokens.front(), tokens.back()};
  const auto widest = [&](std::uint64_t least, std::uint64_t most) {
    std::uint64_t found = 0;
    for (const std::uint64_t each : tokens) found = each >= least && each <= most ? each : found;
    if (found != 0) chosen.push_back(found);
  };
  widest(2, 4);
  widest(5, gpu::image_slice);
  std::ranges::sort(chosen);
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

class Sweep {
 public:
  Sweep(const gpu::Device& device, const SweepWish& wish) : device_(device), wish_(wish) {
    const std::uint64_t block = format_info(wish.format).block_elements;
    last_ = block < super_block ? std::max<std::uint64_t>(block, 32) : super_block;
  }

  std::vector<std::vector<Case>> make() {
    const std::uint64_t processors = std::max(device_.info().multiprocessors, 1U);
    const std::vector<std::uint64_t> windows = chosen_windows(wish_.tokens);
    tilings({47, 17 * super_block + last_}, windows);
    tilings({40 * processors + 5, super_block + last_}, {windows.front(), windows.back()});
    tilings({19, 45 * super_block + last_}, {windows.back()});
    groups({96, 9 * super_block + last_}, windows);
    return std::move(sets_);
  }

  std::vector<Case> offsets() {
    const FormatInfo& info = format_info(wish_.format);
    constexpr std::uint64_t cols = 4 * super_block;
    Case far = base({64, cols});
    const std::uint64_t row = row_bytes(info, cols);
    far.apart = std::max((std::uint64_t{1} << 32) / row, (std::uint64_t{1} << 31) / cols) + 1;
    far.tokens = 3;
    std::vector<Case> runs;
    for (const Runnable& kernel : runnable(device_, wish_, far.planes)) runs.push_back(by(far, kernel));
    return runs;
  }

 private:
  // A case of its own seed; plane counts take turns.
  Case base(const Shape& shape) {
    Case made;
    made.format = wish_.format;
    made.rows = shape.rows;
    made.cols = shape.cols;
    made.planes = wish_.planes[turn_++ % wish_.planes.size()];
    made.seed = wish_.seed + turn_;
    return made;
  }
  static Case by(Case problem, const Runnable& kernel) {
    problem.layout = kernel.layout;
    problem.kernel = kernel.name;
    return problem;
  }
  // The run plain and overlapped.
  void add(std::vector<Case>& runs, Case run) const {
    runs.push_back(run);
    if (!can_overlap(device_)) return;
    run.overlapped = true;
    runs.push_back(std::move(run));
  }
  void keep(std::vector<Case> runs) {
    if (!runs.empty()) sets_.push_back(std::move(runs));
  }

  void tilings(const Shape& shape, const std::vector<std::uint64_t>& windows) {
    const Case of = base(shape);
    std::vector<Case> runs;
    for (const Runnable& kernel : runnable(device_, wish_, of.planes)) {
      for (const std::uint64_t tokens : windows) {
        Case run = by(of, kernel);
        run.tokens = tokens;
        add(runs, run);
        for (const gpu::Tiling& tiling : kernel.tilings) {
          run.tile = tiling;
          add(runs, run);
        }
      }
    }
    keep(std::move(runs));
  }

  // Of 96 rows.
  void groups(const Shape& shape, const std::vector<std::uint64_t>& windows) {
    struct Together {
      std::vector<std::uint64_t> group;
      std::uint32_t experts;
    };
    const Together kinds[] = {
        {{33, 16, 0, 1, 46}, 0}, {{1, 2, 3, 15, 17, 18, 19, 21}, 0}, {{}, 8}, {{64, 32}, 4}, {{}, 48}};
    const Case of = base(shape);
    std::vector<Case> runs;
    for (const Runnable& kernel : runnable(device_, wish_, of.planes)) {
      for (const Together& kind : kinds) {
        for (const std::uint64_t tokens : windows) {
          Case run = by(of, kernel);
          run.group = kind.group;
          run.experts = kind.experts;
          run.tokens = tokens;
          add(runs, run);
        }
      }
    }
    keep(std::move(runs));
  }

  const gpu::Device& device_;
  const SweepWish& wish_;
  std::uint64_t last_ = 0;  // elements of a last super-block, short where the block allows
  std::size_t turn_ = 0;
  std::vector<std::vector<Case>> sets_;
};

}  // namespace

std::vector<std::vector<Case>> launch_sweep(const gpu::Device& device, const SweepWish& wish) {
  return Sweep(device, wish).make();
}

std::vector<Case> offset_cases(const gpu::Device& device, const SweepWish& wish) {
  return Sweep(device, wish).offsets();
}

}  // namespace lanewise
