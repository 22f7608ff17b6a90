// Models, matrices and workspaces: what lives how long, and names of matrices.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "library/support.h"

namespace lanewise::test {
namespace {

class ModelFile : public testing::Test {
 protected:
  void SetUp() override {
    bytes_ = usual_model();
    path_ = testing::TempDir() + "lanewise_library_" + testing::UnitTest::GetInstance()->current_test_info()->name() +
            ".gguf";
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes_.data()), static_cast<std::streamsize>(bytes_.size()));
  }
  void TearDown() override { std::remove(path_.c_str()); }
  std::vector<std::uint8_t> bytes_;
  std::string path_;
};

TEST_F(ModelFile, TensorsAreListedInTheFilesOrder) {
  const lw::Model model(path_);
  ASSERT_EQ(model.size(), 5u);
  const std::vector<lw_tensor_info> tensors = model.tensors();
  EXPECT_STREQ(tensors[0].name, "norm.weight");
  EXPECT_EQ(tensors[0].dim_count, 1u);
  EXPECT_EQ(tensors[0].dims[0], 256u);
  EXPECT_EQ(tensors[0].dims[1], 1u);
  EXPECT_STREQ(tensors[1].type_name, "q4_K");
  EXPECT_EQ(tensors[1].type, static_cast<std::uint32_t>(LW_Q4_K));
  EXPECT_EQ(tensors[1].bytes, 48u * 2 * 144);
  EXPECT_EQ(tensors[1].is_weight, 1);
  EXPECT_EQ(tensors[3].dim_count, 3u);
  EXPECT_EQ(tensors[3].dims[2], 3u);
  EXPECT_STREQ(tensors[4].type_name, "i32");
  EXPECT_EQ(tensors[4].is_weight, 0);
  const lw_tensor_info found = model.find("blk.0.q.weight");
  EXPECT_EQ(std::memcmp(&found, &tensors[1], sizeof found), 0);
}

TEST_F(ModelFile, AMatrixOutlivesItsModelAndDevice) {
  std::optional<lw::Device> device(std::in_place, lw::DeviceOptions{.threads = 2});
  std::optional<lw::Model> model(std::in_place, path_);
  const lw::Matrix q(*device, *model, "blk.0.q.weight");
  const lw::Activation x(*device, make_x(512, 1), 512);
  Floats before(48), after(48);
  lw::gemv(*device, q, x, before);
  model.reset();
  std::remove(path_.c_str());
  lw::gemv(*device, q, x, after);
  EXPECT_TRUE(is_telling(before));
  EXPECT_TRUE(same_bits(before, after));
  device.reset();
  EXPECT_EQ(q.info().rows, 48u);
  EXPECT_EQ(x.info().tokens, 1u);
}

TEST_F(ModelFile, MatricesOfAStackAreNamedByTheirIndex) {
  const lw::Device device({.threads = 1});
  const lw::Model model(path_);
  const lw_tensor_info stack = model.find("blk.0.exps.weight");
  const auto* data = static_cast<const std::byte*>(stack.data);
  const Floats x = make_x(512, 1);
  const lw::Activation activation(device, x, 512);
  Floats last;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const lw::Matrix named(device, model, "blk.0.exps.weight[" + std::to_string(i) + "]");
    const lw::Matrix bare(device, LW_Q8_0, 40, 512, {data + i * stack.bytes / 3, stack.bytes / 3});
    Floats y(40), expected(40);
    lw::gemv(device, named, activation, y);
    lw::gemv(device, bare, activation, expected);
    EXPECT_TRUE(same_bits(y, expected));
    EXPECT_FALSE(same_bits(y, last));
    last = y;
  }
  const lw::Matrix norm(device, model, "norm.weight");
  EXPECT_EQ(norm.rows(), 1u);
  EXPECT_EQ(norm.cols(), 256u);
}

TEST_F(ModelFile, NamesThatAreNoMatrix) {
  const lw::Device device({.threads = 1});
  const lw::Model model(path_);
  const auto code = [&](const char* name) {
    lw_error error = LW_ERROR_INIT;
    const lw::Matrix matrix = lw::Matrix::from_tensor(device, model, name, error);
    EXPECT_FALSE(matrix);
    EXPECT_NE(error.message[0], '\0');
    return error.code;
  };
  EXPECT_EQ(code("blk.0.exps.weight"), LW_ERROR_ARGUMENT) << "several matrices";
  EXPECT_EQ(code("blk.0.exps.weight[3]"), LW_ERROR_NOT_FOUND);
  EXPECT_EQ(code("blk.0.exps.weight[18446744073709551616]"), LW_ERROR_NOT_FOUND);
  EXPECT_EQ(code("blk.0.exps.weight[-1]"), LW_ERROR_NOT_FOUND);
  EXPECT_EQ(code("blk.0.exps.weight[]"), LW_ERROR_NOT_FOUND);
  EXPECT_EQ(code("nothing"), LW_ERROR_NOT_FOUND);
  EXPECT_EQ(code(""), LW_ERROR_NOT_FOUND);
  EXPECT_EQ(code("positions"), LW_ERROR_NOT_A_WEIGHT);
}

TEST_F(ModelFile, FileErrorsCarryTheByte) {
  lw_model* model = nullptr;
  lw_error error = LW_ERROR_INIT;
  EXPECT_EQ(lw_model_open((path_ + ".none").c_str(), &model, &error), LW_ERROR_NOT_FOUND);
  EXPECT_EQ(error.offset, LW_NO_OFFSET);
  EXPECT_EQ(lw_model_open_bytes(bytes_.data(), bytes_.size() - 1, &model, &error), LW_ERROR_FILE_TRUNCATED);
  EXPECT_NE(error.offset, LW_NO_OFFSET);
  std::vector<std::uint8_t> broken = bytes_;
  broken[0] = 'X';
  EXPECT_EQ(lw_model_open_bytes(broken.data(), broken.size(), &model, &error), LW_ERROR_FILE_MAGIC);
  EXPECT_EQ(error.offset, 0u);
  EXPECT_EQ(model, nullptr);
  EXPECT_EQ(lw_model_open_bytes(nullptr, 0, &model, &error), LW_ERROR_FILE_TRUNCATED);
}

TEST(Workspace, AnActivationLivesInTheCallersMemory) {
  const lw::Device device({.threads = 2});
  const FormatInfo& info = *find_format("q5_1");
  const Weights w(device, info, 20, 96, 1);
  const Floats x = make_x(3 * 96, 1);
  for (const lw_planes planes : {LW_X8, LW_X16, LW_X24}) {
    std::uint64_t bytes = 0;
    ASSERT_EQ(lw_activation_workspace(device.get(), planes, 3, 96, &bytes, nullptr), LW_OK);
    ASSERT_GT(bytes, 0u);
    constexpr std::size_t zone = 64;
    const std::size_t size = (bytes + 2 * zone + 63) / 64 * 64;
    const std::unique_ptr<std::byte, decltype(&std::free)> memory(static_cast<std::byte*>(std::aligned_alloc(64, size)),
                                                                  &std::free);
    std::memset(memory.get(), 0xA5, size);
    lw_error error = LW_ERROR_INIT;
    lw::Activation in = lw::Activation::create_in(device, 96, 3, planes, {memory.get() + zone, bytes}, error);
    ASSERT_TRUE(in) << error.message;
    in.set(x);
    Floats y(60), expected(60);
    lw::gemv(device, w.matrix, in, y);
    const Weights f(device, *find_format("f32"), 20, 96, 1);
    Floats other(60);
    lw::gemv(device, f.matrix, in, other);  // float images live there too
    lw::gemv(device, w.matrix, lw::Activation(device, x, 96, planes), expected);
    EXPECT_TRUE(same_bits(y, expected));
    for (std::size_t i = 0; i < zone; ++i) {
      ASSERT_EQ(memory.get()[i], std::byte{0xA5}) << "before the workspace";
      ASSERT_EQ(memory.get()[zone + bytes + i], std::byte{0xA5}) << "after the workspace";
    }
    // One byte short, and not aligned.
    EXPECT_FALSE(lw::Activation::create_in(device, 96, 3, planes, {memory.get() + zone, bytes - 1}, error));
    EXPECT_EQ(error.code, LW_ERROR_ARGUMENT);
    EXPECT_FALSE(lw::Activation::create_in(device, 96, 3, planes, {memory.get() + zone - 4, bytes}, error));
    EXPECT_EQ(error.code, LW_ERROR_ARGUMENT);
    // x and y in the workspace itself.
    auto* inside = reinterpret_cast<float*>(memory.get() + zone);
    EXPECT_EQ(in.set(std::span<const float>(inside, 96), error), LW_ERROR_ARGUMENT);
    EXPECT_EQ(lw::gemv(device, w.matrix, in, std::span<float>(inside, 60), error), LW_ERROR_ARGUMENT);
    EXPECT_EQ(in.tokens(), 3u) << "a set that failed leaves the activation as it was";
    Floats again(60);
    lw::gemv(device, w.matrix, in, again);
    EXPECT_TRUE(same_bits(again, expected));
  }
}

}  // namespace
}  // namespace lanewise::test
