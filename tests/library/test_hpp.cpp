// lanewise.hpp: owners, spans, and the two ways in which errors come.
#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "library/support.h"

namespace lanewise::test {
namespace {

template <class T>
constexpr bool moves_only = std::is_nothrow_move_constructible_v<T>&& std::is_nothrow_move_assignable_v<T> &&
                            !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;
static_assert(moves_only<lw::Model> && moves_only<lw::Device> && moves_only<lw::Matrix> && moves_only<lw::Activation>);
static_assert(sizeof(lw::Matrix) == sizeof(void*), "an owner is its handle");
static_assert(std::is_nothrow_copy_constructible_v<lw::Error>);

TEST(Hpp, ErrorsAreThrownOrFilled) {
  try {
    const lw::Model model("/no/such/file");
    FAIL();
  } catch (const std::exception& thrown) {
    const auto& error = dynamic_cast<const lw::Error&>(thrown);
    EXPECT_EQ(error.code(), LW_ERROR_NOT_FOUND);
    EXPECT_EQ(error.offset(), LW_NO_OFFSET);
    EXPECT_NE(std::string(error.what()).find("/no/such/file"), std::string::npos);
  }
  lw_error error = lw::make_error();
  const lw::Model model = lw::Model::open("/no/such/file", error);
  EXPECT_FALSE(model);
  EXPECT_EQ(error.code, LW_ERROR_NOT_FOUND);
  EXPECT_EQ(model.size(), 0u);
  EXPECT_THROW(lw::Device({.name = "none"}), lw::Error);
  EXPECT_THROW(lw::Model(std::span<const std::byte>()), lw::Error);
}

TEST(Hpp, SpansAreMeasured) {
  const lw::Device device({.threads = 1});
  const Weights w(device, *find_format("q8_0"), 5, 32, 1);
  lw::Activation x(device, 32, 3);
  lw_error error = lw::make_error();
  EXPECT_EQ(x.set(Floats(33), error), LW_ERROR_ARGUMENT);
  EXPECT_NE(error.message[0], '\0');
  EXPECT_EQ(x.set(Floats(128), error), LW_ERROR_ARGUMENT) << "four tokens, room for three";
  x.set(make_x(96, 1));
  EXPECT_EQ(x.tokens(), 3u);
  Floats y(15, untouched());
  EXPECT_EQ(lw::gemv(device, w.matrix, x, std::span(y).first(14), error), LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw::gemv(device, w.matrix, x, lw::Output(y, 6), error), LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw::gemv(device, w.matrix, x, lw::Output(y, 4), error), LW_ERROR_ARGUMENT);
  EXPECT_EQ(count_untouched(y), 15u);
  EXPECT_THROW(lw::gemv(device, w.matrix, x, std::span(y).first(14)), lw::Error);
  lw::gemv(device, w.matrix, x, y);
  EXPECT_EQ(count_untouched(y), 0u);
  Floats strided(2 * 7 + 5, untouched());
  lw::gemv(device, w.matrix, x, lw::Output(strided, 7));
  EXPECT_TRUE(same_bits({strided.data() + 14, 5}, {y.data() + 10, 5}));

  const std::array<const lw_matrix*, 1> one = {w.matrix.get()};
  EXPECT_EQ(lw::gemv_group(device, one, x, {}, error), LW_ERROR_ARGUMENT);
  const std::array<std::int32_t, 4> ids = {0, 0, 0, 0};
  EXPECT_EQ(lw::gemv_experts(device, one, x, ids, y, error), LW_ERROR_ARGUMENT) << "four ids for three tokens";
  EXPECT_EQ(lw::gemv_experts(device, one, x, std::span(ids).first(3), std::span(y).first(14), error),
            LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw::gemv_experts(device, one, x, std::span(ids).first(3), y, error), LW_OK);
}

TEST(Hpp, MovedFromOwnersAreEmpty) {
  lw::Device device({.threads = 1});
  lw::Device moved = std::move(device);
  EXPECT_TRUE(moved);
  EXPECT_FALSE(device);  // NOLINT(bugprone-use-after-move): what this is about
  EXPECT_EQ(device.info().threads, 0u);
  Weights w(moved, *find_format("q8_0"), 5, 32, 1);
  const lw::Matrix taken = std::move(w.matrix);
  EXPECT_EQ(taken.rows(), 5u);
  EXPECT_EQ(w.matrix.rows(), 0u);  // NOLINT(bugprone-use-after-move)
  const lw::Activation x(moved, make_x(32, 1), 32);
  Floats y(5);
  lw_error error = lw::make_error();
  EXPECT_EQ(lw::gemv(device, taken, x, y, error), LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw::gemv(moved, w.matrix, x, y, error), LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw::gemv(moved, taken, x, y, error), LW_OK);
}

TEST(Hpp, Dequantizes) {
  const FormatInfo& info = *find_format("q5_K");
  const Bytes bytes = make_weights(info, 1, 512, 1);
  Floats out(512), expected(512);
  lw::dequantize(LW_Q5_K, bytes, out);
  dequantize_row(info.format, reinterpret_cast<const std::uint8_t*>(bytes.data()), 512, expected.data());
  EXPECT_TRUE(is_telling(out));
  EXPECT_TRUE(same_bits(out, expected));
  EXPECT_THROW(lw::dequantize(LW_Q5_K, bytes, std::span(out).first(500)), lw::Error);
}

}  // namespace
}  // namespace lanewise::test
