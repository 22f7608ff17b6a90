// The host's half of the CUDA backend, from the C interface down to what a launch is told, on an emulated device: the
// bits are the CPU's, nothing is written elsewhere, nothing is allocated by a product, and the harness sees what is
// wrong.
#include <gtest/gtest.h>
#include <lanewise/lanewise.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <set>

#include "cuda/emulated_device.h"
#include "harness/sweep.h"
#include "harness/verify.h"
#include "kernels/devices.h"
#include "library/handles.h"

namespace lanewise::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes random_weights(const FormatInfo& info, std::uint64_t rows, std::uint64_t cols, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(rows * row_bytes(info, cols));
  // No infinite scales.
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() & 0x3Fu);
  return bytes;
}

std::vector<float> random_x(std::uint64_t elements, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> gauss;
  std::vector<float> x(elements);
  for (float& value : x) value = gauss(random);
  return x;
}

class CudaHost : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(lw_device_open(nullptr, &cpu_, nullptr), LW_OK);
    auto* made = new lw_device;
    made->id = 1'000'000;
    made->backend = "cuda";
    made->name = "cuda:0";
    made->description = "emulated";
    made->capabilities = emulated_->capabilities();
    made->gpu = emulated_;
    made->stream = &stream_;
    gpu_ = made;
  }
  void TearDown() override {
    lw_device_close(gpu_);
    lw_device_close(cpu_);
    EXPECT_TRUE(emulated_->held.empty()) << "device memory is left";
  }

  // Device memory with these bytes in it.
  template <class T>
  gpu::Memory upload(const std::vector<T>& values) {
    auto memory = gpu::Memory::allocate(emulated_, values.size() * sizeof(T));
    EXPECT_TRUE(memory.ok());
    std::memcpy(memory->data(), values.data(), values.size() * sizeof(T));
    return std::move(memory).value();
  }

  std::shared_ptr<EmulatedDevice> emulated_ = std::make_shared<EmulatedDevice>();
  int stream_ = 0;
  lw_device* cpu_ = nullptr;
  lw_device* gpu_ = nullptr;
};

struct Handles {
  std::vector<lw_matrix*> matrices;
  lw_activation* x = nullptr;
  ~Handles() {
    for (lw_matrix* matrix : matrices) lw_matrix_free(matrix);
    lw_activation_free(x);
  }
};

TEST_F(CudaHost, GivesTheBitsOfTheCpu) {
  std::uint32_t seed = 1;
  for (const FormatInfo& info : formats()) {
    const std::uint64_t cols = info.block_elements == 256 ? 768 : 768 + info.block_elements;
    for (const std::uint64_t tokens : {1u, 3u, 8u, 9u, 20u}) {
      const std::uint64_t rows = 5 + seed % 3;
      const std::uint64_t stride = rows + seed % 2 * 3;
      const auto planes = static_cast<lw_planes>(1 + seed % 3);
      const auto dtype = static_cast<lw_dtype>(seed % 2 == 0 ? LW_DTYPE_F32 : 1 + seed / 2 % 2);
      const std::uint64_t element = dtype == LW_DTYPE_F32 ? 4 : 2;
      const Bytes w = random_weights(info, rows, cols, seed);
      std::vector<float> x = random_x(tokens * cols, seed);
      if (seed % 4 == 0) x[cols / 2] = std::numeric_limits<float>::infinity();
      Bytes expected(tokens * stride * element, 0xEE);
      Bytes got = expected;
      const gpu::Memory x_there = upload(x);
      const gpu::Memory y_there = upload(got);
      for (lw_device* device : {cpu_, gpu_}) {
        const bool here = device == cpu_;
        Handles made;
        made.matrices.resize(1);
        lw_error error = LW_ERROR_INIT;
        ASSERT_EQ(lw_matrix_from_bytes(device, static_cast<lw_format>(info.id), rows, cols, w.data(), w.size(),
                                       made.matrices.data(), &error),
                  LW_OK)
            << error.message;
        ASSERT_EQ(lw_activation_create(device, planes, 20, cols, &made.x, &error), LW_OK) << error.message;
        ASSERT_EQ(lw_activation_set(made.x, LW_DTYPE_F32, here ? x.data() : reinterpret_cast<float*>(x_there.data()),
                                    tokens, 0, &error),
                  LW_OK)
            << error.message;
        const std::size_t held = emulated_->held.size();
        emulated_->allocations_left = here ? ~std::uint64_t{0} : 0;
        ASSERT_EQ(
            lw_gemv(device, made.matrices[0], made.x, {here ? expected.data() : y_there.data(), dtype, stride}, &error),
            LW_OK)
            << error.message;
        emulated_->allocations_left = ~std::uint64_t{0};
        EXPECT_EQ(emulated_->held.size(), held);
        if (here) continue;
        EXPECT_EQ(emulated_->launches.back().stream, &stream_);
        EXPECT_EQ(emulated_->launches.size(), (tokens + 7) / 8);
        char text[256];
        ASSERT_EQ(lw_gemv_explain(device, made.matrices[0], made.x, text, sizeof text, &error), LW_OK);
        EXPECT_TRUE(std::string(text).starts_with("cuda.gemv." + std::string(info.name) + ".raw.")) << text;
      }
      std::memcpy(got.data(), y_there.data(), got.size());
      EXPECT_EQ(got, expected) << info.name << ", " << tokens << " tokens";
      emulated_->launches.clear();
      ++seed;
    }
  }
}

TEST_F(CudaHost, AGroupIsALaunchAFormatAndEight) {
  constexpr std::uint64_t cols = 512;
  constexpr std::uint64_t tokens = 3;
  // 11 of q4_K, among them two of q6_K, one empty matrix and one output of fp16.
  std::vector<Format> kinds(11, Format::Q4_K);
  kinds.insert(kinds.begin() + 2, Format::Q6_K);
  kinds.insert(kinds.begin() + 9, Format::Q6_K);
  const std::vector<float> x = random_x(tokens * cols, 5);
  const gpu::Memory x_there = upload(x);
  std::vector<Bytes> weights;
  std::vector<std::uint64_t> rows;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    rows.push_back(i == 4 ? 0 : 3 + i);
    weights.push_back(random_weights(format_info(kinds[i]), rows[i], cols, static_cast<std::uint32_t>(i)));
  }
  std::vector<Bytes> results[2];
  for (lw_device* device : {cpu_, gpu_}) {
    const bool here = device == cpu_;
    Handles made;
    made.matrices.resize(kinds.size());
    lw_error error = LW_ERROR_INIT;
    std::vector<Bytes> host;
    std::vector<gpu::Memory> there;
    std::vector<lw_output> ys;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      ASSERT_EQ(lw_matrix_from_bytes(device, static_cast<lw_format>(format_info(kinds[i]).id), rows[i], cols,
                                     weights[i].data(), weights[i].size(), &made.matrices[i], &error),
                LW_OK)
          << error.message;
      const lw_dtype dtype = i == 7 ? LW_DTYPE_F16 : LW_DTYPE_F32;
      host.emplace_back(tokens * (rows[i] + 2) * (i == 7 ? 2 : 4), 0xEE);
      there.push_back(upload(host.back()));
      ys.push_back({here ? host.back().data() : there.back().data(), dtype, rows[i] + 2});
    }
    ASSERT_EQ(lw_activation_create(device, LW_X16, tokens, cols, &made.x, &error), LW_OK);
    ASSERT_EQ(lw_activation_set(made.x, LW_DTYPE_F32, here ? x.data() : reinterpret_cast<float*>(x_there.data()),
                                tokens, 0, &error),
              LW_OK);
    ASSERT_EQ(lw_gemv_group(device, kinds.size(), made.matrices.data(), made.x, ys.data(), &error), LW_OK)
        << error.message;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (!here) std::memcpy(host[i].data(), there[i].data(), host[i].size());
    }
    results[here ? 0 : 1] = host;
  }
  EXPECT_EQ(results[0], results[1]);
  std::vector<std::pair<Format, std::uint32_t>> told;
  for (const auto& launched : emulated_->launches) told.emplace_back(launched.format, launched.what.count);
  // Ten of q4_K with fp32 outputs, the empty one of which is no target; then q6_K; then the one of fp16.
  EXPECT_EQ(told, (std::vector<std::pair<Format, std::uint32_t>>{
                      {Format::Q4_K, 7}, {Format::Q4_K, 2}, {Format::Q6_K, 2}, {Format::Q4_K, 1}}));
}

TEST_F(CudaHost, ExpertsAreThoseOfTheCpu) {
  constexpr std::uint64_t cols = 512;
  constexpr std::uint64_t experts = 7;
  for (const std::uint64_t tokens : {1u, 5u, 19u}) {
    for (const std::uint64_t used : {1u, 3u}) {
      const std::vector<float> x = random_x(tokens * cols, 5);
      const gpu::Memory x_there = upload(x);
      std::mt19937 random(static_cast<std::uint32_t>(tokens * 10 + used));
      std::vector<std::int32_t> ids(tokens * used);
      for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % experts);
      const gpu::Memory ids_there = upload(ids);
      // Gate and up of one format, and a third list of another, with another number of rows.
      const std::array formats_of = {Format::Q4_K, Format::Q4_K, Format::F16};
      const std::array<std::uint64_t, 3> rows = {6, 4, 5};
      std::vector<Bytes> weights;
      for (std::size_t i = 0; i < 3 * experts; ++i) {
        weights.push_back(random_weights(format_info(formats_of[i / experts]), rows[i / experts], cols,
                                         static_cast<std::uint32_t>(i)));
      }
      std::vector<Bytes> results[2];
      emulated_->launches.clear();
      for (lw_device* device : {cpu_, gpu_}) {
        const bool here = device == cpu_;
        Handles made;
        made.matrices.resize(weights.size());
        lw_error error = LW_ERROR_INIT;
        std::vector<Bytes> host;
        std::vector<gpu::Memory> there;
        std::vector<lw_output> ys;
        for (std::size_t i = 0; i < weights.size(); ++i) {
          const FormatInfo& info = format_info(formats_of[i / experts]);
          ASSERT_EQ(lw_matrix_from_bytes(device, static_cast<lw_format>(info.id), rows[i / experts], cols,
                                         weights[i].data(), weights[i].size(), &made.matrices[i], &error),
                    LW_OK);
        }
        for (std::size_t list = 0; list < 3; ++list) {
          host.emplace_back(tokens * used * (rows[list] + list) * 4, 0xEE);
          there.push_back(upload(host.back()));
          ys.push_back({here ? host.back().data() : there.back().data(), LW_DTYPE_F32, rows[list] + list});
        }
        ASSERT_EQ(lw_activation_create(device, LW_X16, 20, cols, &made.x, &error), LW_OK);
        ASSERT_EQ(lw_activation_set(made.x, LW_DTYPE_F32, here ? x.data() : reinterpret_cast<float*>(x_there.data()),
                                    tokens, 0, &error),
                  LW_OK);
        const std::int32_t* const given = here ? ids.data() : reinterpret_cast<std::int32_t*>(ids_there.data());
        ASSERT_EQ(
            lw_gemv_experts_group(device, 3, experts, made.matrices.data(), made.x, given, used, ys.data(), &error),
            LW_OK)
            << error.message;
        EXPECT_EQ(lw_experts_check(device, made.x, &error), LW_OK) << error.message;
        for (std::size_t list = 0; list < 3 && !here; ++list) {
          std::memcpy(host[list].data(), there[list].data(), host[list].size());
        }
        results[here ? 0 : 1] = host;
        if (here) continue;
        EXPECT_EQ(emulated_->launches.size(), 2 * ((tokens + 7) / 8));
        EXPECT_EQ(emulated_->launches.front().what.count, 2u);
        // A bad id: nothing is written, and the check says so, until the next good call.
        const gpu::Memory bad = upload(std::vector<std::int32_t>(tokens * used, static_cast<std::int32_t>(experts)));
        const Bytes before(there[0].data(), there[0].data() + there[0].bytes());
        const auto call = [&](const gpu::Memory& list) {
          return lw_gemv_experts(device, experts, made.matrices.data(), made.x,
                                 reinterpret_cast<std::int32_t*>(list.data()), used, ys[0], &error);
        };
        ASSERT_EQ(call(bad), LW_OK);
        EXPECT_EQ(lw_experts_check(device, made.x, &error), LW_ERROR_ARGUMENT);
        EXPECT_EQ(std::memcmp(before.data(), there[0].data(), before.size()), 0);
        ASSERT_EQ(call(ids_there), LW_OK);
        EXPECT_EQ(lw_experts_check(device, made.x, &error), LW_OK);
        // Experts of several formats.
        EXPECT_EQ(lw_gemv_experts(device, 2, made.matrices.data() + 2 * experts - 1, made.x,
                                  reinterpret_cast<std::int32_t*>(ids_there.data()), used, ys[0], &error),
                  LW_ERROR_ARGUMENT);  // and of other rows
      }
      EXPECT_EQ(results[0], results[1]) << tokens << " tokens, " << used << " used";
    }
  }
}

TEST_F(CudaHost, FloatImagesAreMadeOnceWhereThatCanBeKnown) {
  constexpr std::uint64_t cols = 256;
  const std::vector<float> x = random_x(cols, 5);
  const gpu::Memory x_there = upload(x);
  const auto made = gpu::Image::create(emulated_, Planes::x16, 1, cols);
  ASSERT_TRUE(made.ok());
  gpu::Image& image = **made;
  const InputView input{x_there.data(), Dtype::f32, 1, cols, cols};
  int a = 0;
  int b = 0;
  const auto prepare = [&](Format format, void* stream) {
    ASSERT_TRUE(image.prepare(format_info(format), false, stream).ok());
  };
  const auto expect_made = [&](const std::vector<std::uint32_t>& wanted) {
    EXPECT_EQ(emulated_->floats, wanted);
    emulated_->floats.clear();
  };
  ASSERT_TRUE(image.set(input, false, &a).ok());
  prepare(Format::Q4_K, &a);
  expect_made({});
  prepare(Format::F16, &a);
  prepare(Format::F16, &a);
  prepare(Format::F32, &a);
  prepare(Format::BF16, &a);
  prepare(Format::F32, &a);
  expect_made({0, 2, 1});
  // Another stream, and a capture, can't know what the first has done by then.
  prepare(Format::F16, &b);
  prepare(Format::F16, &b);
  emulated_->capture = 7;
  prepare(Format::F16, &a);
  expect_made({0, 0, 0});
  // Set in a capture: known in it, and not after it.
  ASSERT_TRUE(image.set(input, false, &a).ok());
  prepare(Format::F16, &a);
  prepare(Format::F16, &a);
  expect_made({0});
  emulated_->capture = 0;
  prepare(Format::F16, &a);
  prepare(Format::F16, &a);
  expect_made({0, 0});
  ASSERT_TRUE(image.set(input, false, &a).ok());
  prepare(Format::F16, &a);
  expect_made({0});
}

TEST_F(CudaHost, Refuses) {
  constexpr std::uint64_t cols = 256;
  lw_error error = LW_ERROR_INIT;
  Handles made;
  made.matrices.resize(1);
  const FormatInfo& info = format_info(Format::Q4_K);
  const Bytes w = random_weights(info, 4, cols, 1);
  ASSERT_EQ(lw_matrix_from_bytes(gpu_, LW_Q4_K, 4, cols, w.data(), w.size(), made.matrices.data(), &error), LW_OK);
  std::uint64_t needed = 0;
  ASSERT_EQ(lw_activation_workspace(gpu_, LW_X16, 2, cols, &needed, &error), LW_OK);
  // Workspaces: in host memory, not aligned, too small.
  alignas(256) static std::uint8_t host[65536];
  ASSERT_LE(needed, sizeof host);
  const gpu::Memory there = upload(Bytes(needed + 256));
  const auto create_in = [&](void* memory, std::uint64_t bytes, const char* says) {
    EXPECT_EQ(lw_activation_create_in(gpu_, LW_X16, 2, cols, memory, bytes, &made.x, &error), LW_ERROR_ARGUMENT);
    EXPECT_NE(std::string(error.message).find(says), std::string::npos) << error.message;
  };
  create_in(host, needed, "host memory");
  create_in(there.data() + 64, needed, "aligned");
  create_in(there.data(), needed - 1, "bytes");
  create_in(nullptr, needed, "null");
  ASSERT_EQ(lw_activation_create_in(gpu_, LW_X16, 2, cols, there.data(), needed, &made.x, &error), LW_OK);
  const gpu::Memory x = upload(random_x(2 * cols, 3));
  // x and y in the workspace, y in the weights.
  EXPECT_EQ(lw_activation_set(made.x, LW_DTYPE_F32, there.data(), 1, 0, &error), LW_ERROR_ARGUMENT);
  ASSERT_EQ(lw_activation_set(made.x, LW_DTYPE_F32, x.data(), 2, 0, &error), LW_OK) << error.message;
  EXPECT_EQ(lw_activation_set(made.x, LW_DTYPE_F32, x.data(), 3, 0, &error), LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw_gemv(gpu_, made.matrices[0], made.x, {there.data(), LW_DTYPE_F32, 0}, &error), LW_ERROR_ARGUMENT);
  const auto* const weights = made.matrices[0]->view.data;
  EXPECT_EQ(lw_gemv(gpu_, made.matrices[0], made.x, {const_cast<std::uint8_t*>(weights), LW_DTYPE_F32, 0}, &error),
            LW_ERROR_ARGUMENT);
  EXPECT_TRUE(emulated_->launches.empty());
  const gpu::Memory y = upload(Bytes(64));
  const lw_output out{y.data(), LW_DTYPE_F32, 0};
  EXPECT_EQ(lw_gemv_part(gpu_, made.matrices[0], made.x, out, 0, 2, &error), LW_ERROR_UNSUPPORTED);
  EXPECT_NE(std::string(error.message).find("whole products"), std::string::npos) << error.message;
  EXPECT_EQ(lw_gemv(cpu_, made.matrices[0], made.x, out, &error), LW_ERROR_ARGUMENT);
  // A device without room.
  emulated_->allocations_left = 0;
  lw_matrix* none = nullptr;
  EXPECT_EQ(lw_matrix_from_bytes(gpu_, LW_Q4_K, 4, cols, w.data(), w.size(), &none, &error), LW_ERROR_MEMORY);
  EXPECT_EQ(none, nullptr);
  emulated_->allocations_left = ~std::uint64_t{0};
  // A failure of the device reaches whoever waits.
  emulated_->failure = make_error(LW_ERROR_DEVICE, "lost");
  EXPECT_EQ(lw_device_wait(gpu_, &error), LW_ERROR_DEVICE);
  EXPECT_EQ(lw_device_wait(cpu_, &error), LW_OK);
}

TEST_F(CudaHost, HandlesOnStreamsShareMatrices) {
  constexpr std::uint64_t cols = 256;
  lw_error error = LW_ERROR_INIT;
  int other_stream = 0;
  lw_device* other = nullptr;
  EXPECT_EQ(lw_device_on_stream(cpu_, &other_stream, &other, &error), LW_ERROR_UNSUPPORTED);
  ASSERT_EQ(lw_device_on_stream(gpu_, &other_stream, &other, &error), LW_OK);
  {
    Handles made;
    made.matrices.resize(1);
    const Bytes w = random_weights(format_info(Format::Q8_0), 4, cols, 1);
    ASSERT_EQ(lw_matrix_from_bytes(gpu_, LW_Q8_0, 4, cols, w.data(), w.size(), made.matrices.data(), &error), LW_OK);
    ASSERT_EQ(lw_activation_create(other, LW_X16, 1, cols, &made.x, &error), LW_OK);
    const gpu::Memory x = upload(random_x(cols, 3));
    const gpu::Memory y = upload(Bytes(64));
    ASSERT_EQ(lw_activation_set(made.x, LW_DTYPE_F32, x.data(), 1, 0, &error), LW_OK);
    ASSERT_EQ(lw_gemv(other, made.matrices[0], made.x, {y.data(), LW_DTYPE_F32, 0}, &error), LW_OK) << error.message;
    ASSERT_EQ(lw_gemv(gpu_, made.matrices[0], made.x, {y.data(), LW_DTYPE_F32, 0}, &error), LW_OK) << error.message;
    ASSERT_EQ(emulated_->launches.size(), 2u);
    EXPECT_EQ(emulated_->launches[0].stream, &other_stream);
    EXPECT_EQ(emulated_->launches[1].stream, &stream_);
  }
  lw_device_close(other);
}

// The harness on the device: it passes what is right, and sees what isn't.
class CudaVerify : public CudaHost {
 protected:
  Verdict verify(const char* problem) {
    VerifyOptions options;
    options.gpu = emulated_;
    const auto parsed = parse_case(problem);
    EXPECT_TRUE(parsed.ok()) << problem;
    return verify_case(*parsed, options);
  }
};

TEST_F(CudaVerify, PassesWhatIsRight) {
  for (const char* problem :
       {"gemv:q4_K:768x9:tokens=11:fill=gauss:seed=3", "gemv:q6_K:512x5:tokens=4:act=x24:fill=raw",
        "gemv:f16:288x7:tokens=2:act=x8:fill=wide", "gemv:mxfp4:288x7:tokens=8:x=bf16:y=f16"}) {
    const Verdict verdict = verify(problem);
    EXPECT_TRUE(verdict.passed()) << to_string(verdict);
    EXPECT_TRUE(verdict.kernel.starts_with("cuda.gemv.")) << verdict.kernel;
    EXPECT_GT(verdict.outputs.compared, 0u);
    EXPECT_GT(verdict.weights.compared, 0u);
  }
}

TEST_F(CudaVerify, SeesWhatIsWrong) {
  const char* const problem = "gemv:q4_K:512x9:tokens=3:seed=5";
  const auto failure = [&](std::function<void(const cuda::Launch&)> fault) {
    emulated_->after_launch = std::move(fault);
    Verdict verdict = verify(problem);
    EXPECT_EQ(verdict.kind(), VerdictKind::failed) << to_string(verdict);
    return verdict;
  };
  const auto y = [](const cuda::Launch& what) { return static_cast<float*>(what.targets[0].y); };
  EXPECT_EQ(failure([&](const cuda::Launch& what) { y(what)[4] += 1; }).outputs.differing, 1u);
  EXPECT_EQ(failure([&](const cuda::Launch& what) { y(what)[-1] = 0; }).red_zone_bytes, 4u);
  EXPECT_EQ(failure([&](const cuda::Launch& what) { y(what)[9] = 0; }).red_zone_bytes, 4u);       // between tokens
  EXPECT_EQ(failure([&](const cuda::Launch& what) { y(what)[3 * 12] = 0; }).red_zone_bytes, 4u);  // behind the last
  EXPECT_TRUE(
      failure([](const cuda::Launch& what) { const_cast<std::uint8_t*>(what.targets[0].w)[7] ^= 1; }).inputs_changed);
  EXPECT_EQ(failure([](const cuda::Launch& what) { const_cast<std::uint8_t*>(what.x)[5] ^= 1; }).activation.differing,
            1u);
}

// What the device is told, however a problem has it launched, and that what was wrong in one way of doing so is seen.
TEST_F(CudaVerify, LaunchesAsTheProblemSays) {
  const auto passes = [&](const char* problem) {
    emulated_->launches.clear();
    Verdict verdict = verify(problem);
    EXPECT_TRUE(verdict.passed()) << to_string(verdict);
    // What lies between W's halves is none of the scalar kernel's.
    EXPECT_EQ(verdict.against_scalar.compared + (verdict.launched.apart ? 100 : 0), verdict.outputs.compared)
        << problem;
    EXPECT_GT(verdict.outputs.compared, 0u);
    return verdict;
  };
  passes("gemv:q4_K:512x9:tokens=3:tile=16");
  EXPECT_EQ(emulated_->launches[0].what.tile[0], 16u);
  EXPECT_FALSE(emulated_->launches[0].what.overlapped);
  const Verdict overlapped = passes("gemv:f16:512x9:tokens=9:tile=8/2/1:overlapped=yes");
  // Two slices of the product, of one of zeros, of the product again.
  ASSERT_EQ(emulated_->launches.size(), 6u);
  for (const auto& each : emulated_->launches) EXPECT_TRUE(each.what.overlapped && each.what.tile[2] == 1);
  EXPECT_EQ(overlapped.repeated.compared, 9u * 12);
  EXPECT_EQ(passes("gemv:q6_K:512x40:tokens=9:group=33/0/1/6").outputs.compared, 9u * 40);
  ASSERT_EQ(emulated_->launches.size(), 2u);
  EXPECT_EQ(emulated_->launches[0].what.count, 3u);
  EXPECT_EQ(passes("gemv:mxfp4:512x40:tokens=9:experts=8:y=bf16").outputs.compared, 9u * 3 * 5);
  EXPECT_EQ(passes("gemv:q8_0:512x48:tokens=2:group=32/16:experts=4:overlapped=yes").outputs.compared,
            2u * 3 * (8 + 4));
  EXPECT_EQ(emulated_->launches[0].what.count, 2u);
  EXPECT_EQ(passes("gemv:q5_1:512x9:tokens=1:apart=100").outputs.compared, 109u);
}

TEST_F(CudaVerify, SeesWhatIsWrongInAnyLaunch) {
  const auto failure = [&](const char* problem, std::function<void(const cuda::Launch&)> fault) {
    emulated_->after_launch = std::move(fault);
    Verdict verdict = verify(problem);
    emulated_->after_launch = nullptr;
    EXPECT_EQ(verdict.kind(), VerdictKind::failed) << to_string(verdict);
    EXPECT_FALSE(verdict.failure().empty());
    return verdict;
  };
  const auto y = [](const cuda::Launch& what, int target) { return static_cast<float*>(what.targets[target].y); };
  // The row is W's.
  const Verdict group =
      failure("gemv:q4_K:512x40:tokens=2:group=33/7", [&](const cuda::Launch& what) { y(what, 1)[7 + 3 + 2] += 1; });
  EXPECT_EQ(group.outputs.differing, 1u);
  EXPECT_EQ(group.outputs.first->row, 35u);
  EXPECT_EQ(group.outputs.first->token, 1u);
  EXPECT_EQ(failure("gemv:q4_K:512x40:tokens=2:group=33/7", [&](const cuda::Launch& what) { y(what, 1)[7] = 1; })
                .red_zone_bytes,
            4u);
  const char* const experts = "gemv:q4_K:512x40:tokens=2:experts=8";
  EXPECT_EQ(failure(experts,
                    [&](const cuda::Launch& what) {
                      if (what.route->bad == 0) y(what, 0)[8 * 4 + 4] += 1;
                    })
                .outputs.first->token,
            1u);
  EXPECT_TRUE(failure(experts, [&](const cuda::Launch& what) {
                if (what.route->bad != 0) y(what, 0)[0] = 1;
              }).bad_ids_taken);
  EXPECT_TRUE(failure(experts, [&](const cuda::Launch& what) {
                if (what.route->bad != 0) const_cast<cuda::Route*>(what.route)->bad = 0;
              }).bad_ids_taken);
  // The last product of a chain alone.
  int count = 0;
  const Verdict last = failure("gemv:q4_K:512x9:tokens=2:overlapped=yes", [&](const cuda::Launch& what) {
    if (++count == 3) y(what, 0)[1] += 1;
  });
  EXPECT_EQ(last.outputs.differing, 0u);
  EXPECT_EQ(last.repeated.differing, 1u);
  // Among the rows of zeros.
  const Verdict zeros =
      failure("gemv:q4_K:512x9:tokens=1:apart=100", [&](const cuda::Launch& what) { y(what, 0)[60] = 1; });
  EXPECT_EQ(zeros.outputs.differing, 1u);
  EXPECT_EQ(zeros.outputs.first->row, 60u);
}

TEST_F(CudaVerify, RefusesWhatCannotBeLaunched) {
  const auto code = [&](const char* problem) {
    const Verdict verdict = verify(problem);
    EXPECT_EQ(verdict.kind(), VerdictKind::error) << to_string(verdict);
    return verdict.error ? verdict.error->code : LW_OK;
  };
  EXPECT_EQ(code("gemv:q4_K:512x9:tile=5"), LW_ERROR_ARGUMENT);
  EXPECT_EQ(code("gemv:f16:512x9:tile=3"), LW_ERROR_ARGUMENT);
  emulated_->set_capability(8, 0);
  EXPECT_EQ(code("gemv:q4_K:512x9:overlapped=yes"), LW_ERROR_UNSUPPORTED);
  for (const char* key : {"tile=4", "overlapped=yes", "group=4/5", "experts=3", "apart=1"}) {
    const Verdict on_cpu = verify_case(*parse_case(std::string("gemv:q4_K:256x9:") + key));
    ASSERT_TRUE(on_cpu.error) << key;
    EXPECT_EQ(on_cpu.error->code, LW_ERROR_ARGUMENT);
  }
}

// The sweeps of the whole verification: every kernel in every tiling, plain and overlapped, groups, experts.
TEST_F(CudaVerify, SweepsPass) {
  VerifyOptions options;
  options.gpu = emulated_;
  for (const Format format : {Format::Q4_K, Format::BF16}) {
    const SweepWish wish{format, {Layout::raw, Layout::frag}, {1, 2, 4, 8, 9}, {Planes::x8, Planes::x16}, "", 7};
    std::set<std::array<std::uint32_t, 4>> tiles;
    std::set<std::uint64_t> windows;
    std::uint64_t overlapped = 0;
    std::uint64_t groups = 0;
    std::uint64_t experts = 0;
    for (const std::vector<Case>& set : launch_sweep(*emulated_, wish)) {
      // The widest matrices take long in an emulator; they are only counted.
      const bool small = set.front().cols < 8192;
      const std::vector<Verdict> verdicts = small ? verify_runs(set, options) : std::vector<Verdict>{};
      for (const Verdict& verdict : verdicts) EXPECT_TRUE(verdict.passed()) << to_string(verdict);
      for (const Case& run : set) {
        const auto read = parse_case(to_string(run));
        EXPECT_TRUE(read && *read == run) << to_string(run);
        tiles.insert(run.tile);
        windows.insert(run.tokens);
        overlapped += run.overlapped ? 1U : 0U;
        groups += run.experts == 0 && run.is_together() ? 1U : 0U;
        experts += run.experts != 0 ? 1U : 0U;
      }
    }
    EXPECT_EQ(tiles.size(), format == Format::BF16 ? 6u : 3u);
    EXPECT_EQ(windows, (std::set<std::uint64_t>{1, 4, 8, 9}));
    EXPECT_EQ(overlapped > 0 && groups > 0 && experts > 0, true);
  }
  for (const Case& run : offset_cases(*emulated_, {Format::Q4_K, {Layout::raw}, {1}, {Planes::x16}, "", 7})) {
    EXPECT_GT(run.apart * 576, std::uint64_t{1} << 32);
    EXPECT_GT(run.apart * 1024, std::uint64_t{1} << 31);
  }
}

TEST(CudaNames, AreTheOrdinals) {
  EXPECT_EQ(parse_gpu_name("cuda")->ordinal, 0u);
  EXPECT_EQ(parse_gpu_name("cuda:0")->ordinal, 0u);
  EXPECT_EQ(parse_gpu_name("cuda:12")->ordinal, 12u);
  EXPECT_EQ(parse_gpu_name("cuda:12")->backend->name, "cuda");
  for (const char* name :
       {"", "cpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda: 1", "cuda1", "CUDA", "cuda:4294967296"}) {
    EXPECT_FALSE(parse_gpu_name(name)) << name;
  }
}

TEST(CudaNames, TellWhatCodeRunsWhere) {
  struct Case {
    const char* built;
    std::uint32_t major, minor;
    bool runs;
  };
  for (const Case& each :
       {Case{"90-real", 9, 0, true}, Case{"90-real", 8, 0, false}, Case{"90-real", 10, 0, false},
        Case{"80-real", 8, 6, true}, Case{"86-real", 8, 0, false}, Case{"90", 10, 0, true},
        Case{"90-virtual", 12, 0, true}, Case{"90-virtual", 8, 9, false}, Case{"90a-real", 9, 0, true},
        Case{"90a", 10, 0, false}, Case{"75-real, 90", 8, 0, false}, Case{"75-real, 90", 7, 5, true},
        Case{"75-real;80-real", 8, 9, true}, Case{"native", 9, 0, true}, Case{"", 9, 0, false}}) {
    EXPECT_EQ(cuda::code_runs_on(each.built, each.major, each.minor), each.runs)
        << each.built << " on " << each.major << "." << each.minor;
  }
}

// On any machine: what a CUDA device would run.
TEST(CudaSelect, EveryFormatHasAKernelReadingItsOwnBytes) {
  for (const FormatInfo& info : formats()) {
    for (const Planes planes : {Planes::x8, Planes::x16, Planes::x24}) {
      const Problem problem{info.format, 64, 512, 1, planes, Layout::raw};
      EXPECT_TRUE(select(problem, "cuda", cuda::capabilities(7, 5)).ok()) << info.name;
      EXPECT_EQ(find_kernel(problem, "cuda", cuda::capabilities(7, 0)), nullptr) << info.name;
      EXPECT_EQ(find_kernel(problem, "cpu", CAP_NONE)->launch_on_cuda, nullptr);
    }
    const Problem packed{info.format, 64, 512, 1, Planes::x16, Layout::rows16};
    EXPECT_EQ(find_kernel(packed, "cuda", ~0u), nullptr) << info.name;
  }
  const KernelDesc* kernel = find_kernel({Format::Q4_K, 64, 512, 1, Planes::x16, Layout::raw}, "cuda", ~0u);
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel_name(*kernel, format_info(Format::Q4_K), Planes::x16).starts_with("cuda.gemv.q4_K.raw.x16."));
}

// Where there is no device, opening one says so; and what is of CUDA is refused by the CPU.
TEST(CudaOpen, SaysWhyNot) {
  lw_device_options options = LW_DEVICE_OPTIONS_INIT;
  lw_error error = LW_ERROR_INIT;
  lw_device* device = nullptr;
  const auto found = cuda::list_devices();
  for (const char* name : {"cuda", "cuda:0", "cuda:1000"}) {
    options.name = name;
    if (found && std::string_view(name) != "cuda:1000") continue;
    const lw_status status = lw_device_open(&options, &device, &error);
    EXPECT_TRUE(status == LW_ERROR_NOT_FOUND || status == LW_ERROR_UNSUPPORTED) << error.message;
    EXPECT_EQ(device, nullptr);
    EXPECT_EQ(std::string(error.message), found ? std::string(error.message) : found.error().message);
    EXPECT_FALSE(std::string(error.message).empty());
  }
  options.name = "cuda:x";
  EXPECT_EQ(lw_device_open(&options, &device, &error), LW_ERROR_NOT_FOUND);
  EXPECT_NE(std::string(error.message).find("no device 'cuda:x'"), std::string::npos) << error.message;
  int stream = 0;
  options.name = "cpu";
  options.stream = &stream;
  EXPECT_EQ(lw_device_open(&options, &device, &error), LW_ERROR_ARGUMENT);
  options.stream = nullptr;
  options.overlapped = 1;
  EXPECT_EQ(lw_device_open(&options, &device, &error), LW_ERROR_ARGUMENT);
  options.overlapped = 0;
  options.layout = "frag";
  EXPECT_EQ(lw_device_open(&options, &device, &error), LW_ERROR_UNSUPPORTED);
  EXPECT_NE(std::string(error.message).find("no kernel for layout frag"), std::string::npos) << error.message;
}

}  // namespace
}  // namespace lanewise::test
