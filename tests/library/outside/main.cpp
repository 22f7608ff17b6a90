// The same as main.c, and an error that must arrive as an exception.
#include <array>
#include <cstdio>
#include <lanewise/lanewise.hpp>
#include <vector>

int main() try {
  std::array<std::byte, 18> block;
  block.fill(std::byte{0x88});
  block[0] = std::byte{0x00};
  block[1] = std::byte{0x3C};
  block[2] = std::byte{0x8F};
  const lw::Device device;
  const lw::Matrix w(device, LW_Q4_0, 1, 32, block);
  std::vector<float> y(1);
  lw::gemv(device, w, lw::Activation(device, std::vector<float>(32, 1.0F), 32), y);
  std::printf("lanewise %s, y = %g\n", lw_version(), static_cast<double>(y[0]));
  if (y[0] != 7.0F) return 1;
  try {
    const lw::Model model("no such file");
  } catch (const lw::Error& error) {
    return error.code() == LW_ERROR_NOT_FOUND ? 0 : 1;
  }
  return 1;
} catch (const lw::Error& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
