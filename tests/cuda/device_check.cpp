// The CUDA kernels on a device, against the scalar kernel, by memory: every family, format, plane count and window,
// tiles, several targets, experts, decoding, halves, offsets past 4 GiB. Tensors lie in allocations of exactly their
// size, outputs are poisoned before and ringed with bytes that must stay. Prints counts and the first differences;
// exits with 1 on any, with 2 where there is no device.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "arithmetic/scalar.h"
#include "backends/cuda/cuda.h"
#include "backends/cuda/route.h"
#include "backends/cuda/units.h"
#include "base/half.h"
#include "cuda/cases.h"
#include "cuda/image_of.h"

namespace lanewise::test {
namespace {

struct Counts {
  std::uint64_t launches = 0, outputs = 0, differing = 0;
};
Counts total;
cudaDeviceProp device;

void need(int error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("error: %s: %s\n", what, cudaGetErrorString(static_cast<cudaError_t>(error)));
  std::exit(1);
}

/// Device memory of exactly so many bytes.
class Buffer {
 public:
  explicit Buffer(std::uint64_t bytes, int fill = 0xEE) : bytes_(bytes) {
    if (bytes == 0) return;
    need(cudaMalloc(&data_, bytes), "cudaMalloc");
    need(cudaMemset(data_, fill, bytes), "cudaMemset");
  }
  Buffer(const void* from, std::uint64_t bytes) : Buffer(bytes) {
    if (bytes != 0) need(cudaMemcpy(data_, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] std::uint8_t* data() const { return static_cast<std::uint8_t*>(data_); }
  [[nodiscard]] std::vector<std::uint8_t> read() const {
    std::vector<std::uint8_t> host(bytes_);
    if (bytes_ != 0) need(cudaMemcpy(host.data(), data_, bytes_, cudaMemcpyDeviceToHost), "cudaMemcpy back");
    return host;
  }

 private:
  void* data_ = nullptr;
  std::uint64_t bytes_;
};

/// Counts the outputs of `got` that differ from `expected`, with what surrounds them.
void compare(const std::string& what, const std::vector<std::uint8_t>& expected, const std::vector<std::uint8_t>& got,
             std::uint64_t element) {
  ++total.launches;
  total.outputs += expected.size() / element;
  if (std::memcmp(expected.data(), got.data(), expected.size()) == 0) return;
  std::uint64_t differing = 0;
  std::uint64_t first = 0;
  for (std::uint64_t i = expected.size(); i-- > 0;) {
    if (expected[i] == got[i]) continue;
    if (first / element != i / element || differing == 0) ++differing;
    first = i;
  }
  if (total.differing < 2000) {
    std::printf("DIFFERS: %s: %llu elements, the first at %llu: expected", what.c_str(),
                static_cast<unsigned long long>(differing), static_cast<unsigned long long>(first / element));
    for (std::uint64_t i = element; i-- > 0;)
      std::printf("%s%02x", i + 1 == element ? " " : "", expected[first / element * element + i]);
    std::printf(", got ");
    for (std::uint64_t i = element; i-- > 0;) std::printf("%02x", got[first / element * element + i]);
    std::printf("\n");
  }
  total.differing += differing;
}

struct Family {
  const char* name;
  Layout layout;
  cuda::Launcher (*launcher)(Format);
};
constexpr Family families[] = {{"simt", Layout::raw, cuda::launchers_simt},
                               {"frag", Layout::frag, cuda::launchers_frag}};

/// A matrix on the device, in a family's layout.
std::unique_ptr<Buffer> upload(const Family& family, Format format, std::uint64_t rows, std::uint64_t cols,
                               Aligned& w) {
  auto raw = std::make_unique<Buffer>(w.data(), w.size);
  if (family.layout == Layout::raw) return raw;
  MatrixView shape{format, rows, cols, nullptr};
  auto packed = std::make_unique<Buffer>(cuda::layout_bytes(family.layout, shape));
  const cuda::Packers packers = cuda::find_packers(family.layout, format);
  need(packers.pack(raw->data(), rows, cols, packed->data(), nullptr), "pack");
  Buffer back(w.size);
  need(packers.unpack(packed->data(), rows, cols, back.data(), nullptr), "unpack");
  compare(std::string("unpack of pack, ") + std::string(format_info(format).name), {w.data(), w.data() + w.size},
          back.read(), 1);
  return packed;
}

struct Case {
  Format format;
  std::uint64_t rows, cols;
  std::uint32_t tokens;
  Planes planes;
  Dtype dtype = Dtype::f32;
  std::uint32_t tile[4] = {0, 0, 0, 0};
  bool overlapped = false;
};

std::string to_string(const Family& family, const Case& c) {
  return std::string(family.name) + " " + std::string(format_info(c.format).name) + " " + std::to_string(c.cols) + "x" +
         std::to_string(c.rows) + " tokens " + std::to_string(c.tokens) + " " + std::string(planes_name(c.planes)) +
         " dtype " + std::to_string(static_cast<int>(c.dtype)) + " tile " + std::to_string(c.tile[0]) + "," +
         std::to_string(c.tile[1]) + "," + std::to_string(c.tile[2]) + "," + std::to_string(c.tile[3]) +
         (c.overlapped ? " overlapped" : "");
}

cuda::Launch launch_of(const Case& c, const Activation& x, const Buffer& image) {
  cuda::Launch launch;
  launch.x = image.data();
  launch.tokens = c.tokens;
  launch.planes = plane_count(c.planes);
  launch.cols = c.cols;
  launch.blocks = static_cast<std::uint32_t>(x.blocks());
  launch.dtype = static_cast<std::uint32_t>(c.dtype);
  launch.multiprocessors = static_cast<std::uint32_t>(device.multiProcessorCount);
  launch.shared_bytes = static_cast<std::uint32_t>(device.sharedMemPerBlockOptin);
  launch.overlapped = c.overlapped;
  std::copy_n(c.tile, 4, launch.tile);
  return launch;
}

constexpr std::uint64_t ring = 64;  // elements before and after y that must stay

std::vector<std::uint8_t> expected_y(const Case& c, const std::uint8_t* w, const Activation& x, std::uint64_t stride) {
  std::vector<std::uint8_t> y((c.tokens * stride + 2 * ring) * dtype_bytes(c.dtype), 0xEE);
  OutputView view;
  view.data = y.data() + ring * dtype_bytes(c.dtype);
  view.dtype = c.dtype;
  view.stride = stride;
  gemv_scalar({c.format, c.rows, c.cols, w}, x, view, 0, c.rows);
  return y;
}

/// One product with each family that has the format, under each of `tiles`, plain and overlapped.
void check_products(const Case& base, const std::vector<std::array<std::uint32_t, 4>>& tiles) {
  Aligned w = random_weights(base.format, base.rows, base.cols, static_cast<std::uint32_t>(base.cols + base.rows));
  std::vector<float> values = random_x(base.tokens, base.cols, static_cast<std::uint32_t>(base.cols));
  if (base.rows % 2 == 0) values[0] = -__builtin_inff();
  const auto x = activation_of(values, base.planes, base.tokens, base.cols);
  const std::uint64_t stride = base.rows + base.rows % 3;
  const std::vector<std::uint8_t> expected = expected_y(base, w.data(), *x, stride);
  const std::vector<std::uint8_t> host_image = image_of(*x, 0, base.tokens);
  const Buffer image(host_image.data(), host_image.size());
  for (const Family& family : families) {
    const cuda::Launcher launcher = family.launcher(base.format);
    if (launcher == nullptr) continue;
    const auto matrix = upload(family, base.format, base.rows, base.cols, w);
    for (const auto& tile : tiles) {
      for (const bool overlapped : {false, true}) {
        Case c = base;
        std::copy_n(tile.data(), 4, c.tile);
        c.overlapped = overlapped;
        const Buffer y(expected.size());
        cuda::Launch launch = launch_of(c, *x, image);
        launch.count = 1;
        launch.targets[0] = {matrix->data(), y.data() + ring * dtype_bytes(c.dtype), c.rows, stride};
        const std::string what = to_string(family, c);
        need(launcher(launch, nullptr), what.c_str());
        need(cudaDeviceSynchronize(), what.c_str());
        compare(what, expected, y.read(), dtype_bytes(c.dtype));
      }
      if (family.layout != Layout::raw) break;  // the tiles below are those of the plain kernels
    }
  }
}

void check_format(const FormatInfo& info) {
  std::uint32_t turn = 0;
  constexpr std::uint64_t rows[] = {1, 33, 3, 130, 16, 7};
  constexpr std::uint64_t cols[] = {256, 32, 1280, 4352, 96, 512, 2304, 64, 14336};
  for (const Planes planes : {Planes::x8, Planes::x16, Planes::x24}) {
    for (std::uint32_t tokens = 1; tokens <= 8; ++tokens) {
      for (std::uint32_t i = 0; i < 4; ++i, ++turn) {
        Case c{info.format, rows[turn % std::size(rows)], cols[turn % std::size(cols)], tokens, planes};
        if (c.cols % info.block_elements != 0) c.cols = 256 * (1 + c.cols / 64);
        if (info.is_float() && turn % 3 == 0) c.cols += 1 + turn % 7;
        c.dtype = i == 3 ? (tokens % 2 == 0 ? Dtype::f16 : Dtype::bf16) : Dtype::f32;
        if (info.is_float()) {
          check_products(c, {{0, 0, 0, 0}, {1, 2, 1, 0}, {2, 3, 2, 0}, {4, 4, 1, 0}, {8, 2, 1, 0}});
        } else {
          check_products(c, {{0, 0, 0, 0}, {4, 0, 0, 0}, {16, 0, 0, 0}});
        }
      }
    }
  }
  for (const std::uint32_t tokens : {1u, 8u}) {
    check_products({info.format, 2000, 4096, tokens, Planes::x16}, {{0, 0, 0, 0}, {4, 0, 0, 0}});
  }
}

void check_decoding(const FormatInfo& info) {
  const cuda::Dequantizer decode = cuda::find_dequantizer(info.format);
  if (decode == nullptr) return;
  for (const std::uint64_t cols :
       {std::uint64_t{256}, std::uint64_t{info.block_elements} * 3, std::uint64_t{1} << 20}) {
    Aligned w = random_weights(info.format, 1, cols, 5);
    std::vector<std::uint8_t> expected(cols * 4);
    dequantize_row(info.format, w.data(), cols, reinterpret_cast<float*>(expected.data()));
    const Buffer from(w.data(), w.size);
    const Buffer to(expected.size());
    need(decode(from.data(), cols, reinterpret_cast<float*>(to.data()), nullptr), "decode");
    need(cudaDeviceSynchronize(), "decode");
    compare("decode " + std::string(info.name), expected, to.read(), 4);
  }
}

void check_halves() {
  std::vector<std::uint16_t> halves(65536);
  std::vector<std::uint8_t> expected(65536 * 4);
  for (std::uint32_t i = 0; i < 65536; ++i) {
    halves[i] = static_cast<std::uint16_t>(i);
    const float value = half_to_float(halves[i]);
    std::memcpy(expected.data() + 4 * i, &value, 4);
  }
  const Buffer from(halves.data(), halves.size() * 2);
  const Buffer to(expected.size());
  need(cuda::find_dequantizer(Format::F16)(from.data(), 65536, reinterpret_cast<float*>(to.data()), nullptr), "halves");
  need(cudaDeviceSynchronize(), "halves");
  compare("all 65,536 halves", expected, to.read(), 4);
}

void check_targets(const FormatInfo& info) {
  constexpr std::uint64_t rows[] = {3, 170, 1, 33};
  for (const std::uint32_t tokens : {1u, 6u}) {
    const Case c{info.format, 0, 1024, tokens, Planes::x16};
    const auto x = activation_of(random_x(tokens, c.cols, 7), c.planes, tokens, c.cols);
    const std::vector<std::uint8_t> host_image = image_of(*x, 0, tokens);
    const Buffer image(host_image.data(), host_image.size());
    for (const Family& family : families) {
      const cuda::Launcher launcher = family.launcher(info.format);
      if (launcher == nullptr) continue;
      cuda::Launch launch = launch_of(c, *x, image);
      std::vector<std::unique_ptr<Buffer>> w;
      std::vector<std::unique_ptr<Buffer>> y;
      std::vector<std::vector<std::uint8_t>> expected;
      for (const std::uint64_t count : rows) {
        Aligned host = random_weights(info.format, count, c.cols, static_cast<std::uint32_t>(count));
        Case one = c;
        one.rows = count;
        expected.push_back(expected_y(one, host.data(), *x, count));
        w.push_back(upload(family, info.format, count, c.cols, host));
        y.push_back(std::make_unique<Buffer>(expected.back().size()));
        launch.targets[launch.count++] = {w.back()->data(), y.back()->data() + ring * 4, count, count};
      }
      const std::string what = "targets, " + to_string(family, c);
      need(launcher(launch, nullptr), what.c_str());
      need(cudaDeviceSynchronize(), what.c_str());
      for (std::size_t i = 0; i < y.size(); ++i) compare(what + " " + std::to_string(i), expected[i], y[i]->read(), 4);
    }
  }
}

void check_experts(const FormatInfo& info) {
  constexpr std::uint32_t experts = 40;
  constexpr std::uint32_t used = 4;
  constexpr std::uint64_t rows = 70;
  const cuda::Launcher launcher = cuda::launchers_simt(info.format);
  if (launcher == nullptr) return;
  for (const std::uint32_t tokens : {1u, 8u}) {
    const Case c{info.format, rows, 512, tokens, Planes::x16};
    const auto x = activation_of(random_x(tokens, c.cols, 9), c.planes, tokens, c.cols);
    const std::vector<std::uint8_t> host_image = image_of(*x, 0, tokens);
    const Buffer image(host_image.data(), host_image.size());
    Random random(tokens);
    std::vector<std::int32_t> ids(tokens * used);
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % experts);
    cuda::Routing routing;
    std::vector<Aligned> host;
    std::vector<std::unique_ptr<Buffer>> w;
    for (std::uint32_t e = 0; e < experts; ++e) {
      host.push_back(random_weights(info.format, rows, c.cols, e));
      w.push_back(std::make_unique<Buffer>(host.back().data(), host.back().size));
      routing.w[0][e] = w.back()->data();
    }
    std::vector<std::uint8_t> expected((tokens * used * rows) * 4, 0xEE);
    const std::vector<std::uint8_t> untouched = expected;
    for (std::uint32_t p = 0; p < ids.size(); ++p) {
      const OutputSlot slot{p / used, p};
      OutputView view;
      view.data = expected.data();
      view.stride = rows;
      view.slots = &slot;
      view.slot_count = 1;
      gemv_scalar({info.format, rows, c.cols, host[static_cast<std::size_t>(ids[p])].data()}, *x, view, 0, rows);
    }
    for (const bool wrong : {false, true}) {
      if (wrong) ids.back() = static_cast<std::int32_t>(experts);
      const Buffer device_ids(ids.data(), ids.size() * 4);
      const Buffer route(sizeof(cuda::Route));
      const Buffer y(expected.size());
      routing.targets = 1;
      routing.experts = experts;
      routing.tokens = tokens;
      routing.used = used;
      routing.ids = reinterpret_cast<const std::int32_t*>(device_ids.data());
      routing.routes = reinterpret_cast<cuda::Route*>(route.data());
      need(cuda::launch_route(routing, false, nullptr), "route");
      cuda::Launch launch = launch_of(c, *x, image);
      launch.overlapped = true;
      launch.count = 1;
      launch.targets[0] = {nullptr, y.data(), rows, rows};
      launch.route = routing.routes;
      launch.ids = routing.ids;
      launch.used = used;
      need(launcher(launch, nullptr), "experts");
      need(cudaDeviceSynchronize(), "experts");
      compare("experts, " + to_string(families[0], c) + (wrong ? " wrong id" : ""), wrong ? untouched : expected,
              y.read(), 4);
    }
  }
}

/// More than 2^32 bytes and elements: the first and the last rows are compared, the rest are zero.
void check_offsets(Format format) {
  const FormatInfo& info = format_info(format);
  constexpr std::uint64_t cols = 4096;
  constexpr std::uint64_t some = 32;
  const std::uint64_t row = row_bytes(info, cols);
  const std::uint64_t rows = (std::uint64_t{9} << 29) / row + some;
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  need(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
  if (free_bytes < rows * row + rows * 8 + (std::uint64_t{1} << 30)) {
    std::printf("left out: offsets of %s: the device has too little memory\n", info.name.data());
    return;
  }
  Aligned host = random_weights(format, 2 * some, cols, 11);
  const Case c{format, 2 * some, cols, 2, Planes::x16};
  const auto x = activation_of(random_x(c.tokens, cols, 12), c.planes, c.tokens, cols);
  const std::vector<std::uint8_t> host_image = image_of(*x, 0, c.tokens);
  const Buffer image(host_image.data(), host_image.size());
  const Buffer w(rows * row, 0);
  need(cudaMemcpy(w.data(), host.data(), some * row, cudaMemcpyHostToDevice), "first rows");
  need(cudaMemcpy(w.data() + (rows - some) * row, host.data() + some * row, some * row, cudaMemcpyHostToDevice),
       "last rows");
  const Buffer y(c.tokens * rows * 4);
  cuda::Launch launch = launch_of(c, *x, image);
  launch.count = 1;
  launch.targets[0] = {w.data(), y.data(), rows, rows};
  need(cuda::launchers_simt(format)(launch, nullptr), "offsets");
  need(cudaDeviceSynchronize(), "offsets");
  const std::vector<std::uint8_t> expected = expected_y(c, host.data(), *x, 2 * some);
  for (std::uint64_t t = 0; t < c.tokens; ++t) {
    std::vector<std::uint8_t> got(2 * some * 4);
    const std::uint8_t* const at = y.data() + t * rows * 4;
    need(cudaMemcpy(got.data(), at, some * 4, cudaMemcpyDeviceToHost), "first outputs");
    need(cudaMemcpy(got.data() + some * 4, at + (rows - some) * 4, some * 4, cudaMemcpyDeviceToHost), "last outputs");
    const std::uint8_t* const from = expected.data() + (ring + t * 2 * some) * 4;
    compare("offsets of " + std::string(info.name), {from, from + got.size()}, got, 4);
  }
}

int run(int ordinal, const char* only) {
  if (cudaSetDevice(ordinal) != cudaSuccess || cudaGetDeviceProperties(&device, ordinal) != cudaSuccess) {
    std::printf("no CUDA device %d: %s\n", ordinal, cudaGetErrorString(cudaGetLastError()));
    return 2;
  }
  std::printf("%s, compute capability %d.%d\n", device.name, device.major, device.minor);
  check_halves();
  for (const FormatInfo& info : formats()) {
    if (only != nullptr && info.name != only) continue;
    const Counts before = total;
    check_decoding(info);
    check_format(info);
    check_targets(info);
    check_experts(info);
    std::printf("%-8s %s%s %llu launches, %llu outputs, %llu differing\n", info.name.data(),
                cuda::launchers_simt(info.format) != nullptr ? "simt" : "",
                cuda::launchers_frag(info.format) != nullptr ? "+frag" : "",
                static_cast<unsigned long long>(total.launches - before.launches),
                static_cast<unsigned long long>(total.outputs - before.outputs),
                static_cast<unsigned long long>(total.differing - before.differing));
    std::fflush(stdout);
  }
  if (only == nullptr) {
    for (const Format format : {Format::Q4_K, Format::Q8_0, Format::MXFP4, Format::F16}) check_offsets(format);
  }
  std::printf("in all: %llu launches, %llu outputs, %llu differing\n", static_cast<unsigned long long>(total.launches),
              static_cast<unsigned long long>(total.outputs), static_cast<unsigned long long>(total.differing));
  return total.differing == 0 && total.launches != 0 ? 0 : 1;
}

}  // namespace
}  // namespace lanewise::test

/// device_check [ordinal [format]]
int main(int count, char** arguments) {
  return lanewise::test::run(count > 1 ? std::atoi(arguments[1]) : 0, count > 2 ? arguments[2] : nullptr);
}
