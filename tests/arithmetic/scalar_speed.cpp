// Prints how long gemv_scalar takes, in ns per weight and token, for every format: 4096 x 256 (K x rows), x16, 1 and 8
// tokens: processor time, the best of five. Run by hand; nothing depends on it.
#include <algorithm>

#include <cstdio>
#include <ctime>

#include "arithmetic/fills.h"
#include "arithmetic/scalar.h"

namespace lanewise::trial {
namespace {

constexpr std::uint64_t cols = 4096, rows = 256;

double nanoseconds(const MatrixView& w, std::uint64_t tokens) {
  Random random(7);
  const Input input = make_input(InputFill::gauss, Planes::x16, Dtype::f32, tokens, cols, cols, random);
  auto x = Activation::create(Planes::x16, tokens, cols);
  if (!x.ok() || !(*x)->set(input.view()).ok()) return 0;
  std::vector<float> y(rows * tokens);
  double best = 1e30;
  for (int round = 0; round < 6; ++round) {  // the first warms up
    const std::clock_t start = std::clock();
    gemv_scalar(w, **x, {y.data(), Dtype::f32, rows}, 0, rows);
    const double took = 1e9 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (round != 0) best = std::min(best, took);
  }
  return best / static_cast<double>(rows * cols * tokens);
}

void table() {
  std::printf("%-8s %8s %8s\n", "format", "1 token", "8 tokens");
  for (const FormatInfo& info : formats()) {
    Random random(1);
    const std::vector<std::uint8_t> weights = make_weights(info.format, rows, cols, WeightFill::tame, random);
    const MatrixView w{info.format, rows, cols, weights.data()};
    const double one = nanoseconds(w, 1);
    std::printf("%-8s %8.2f %8.2f\n", info.name.data(), one, nanoseconds(w, 8));
  }
}

}  // namespace
}  // namespace lanewise::trial

int main() { lanewise::trial::table(); }
