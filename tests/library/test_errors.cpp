// Every argument that can be wrong, wrong: the status, a sentence, and nothing written.
#include <gtest/gtest.h>

#include <string>

#include "library/support.h"

namespace lanewise::test {
namespace {

// Good arguments, of which a test spoils one.
class Errors : public testing::Test {
 protected:
  lw::Device device{{.threads = 2}};
  lw::Device other{{.threads = 1}};
  std::vector<std::uint8_t> file = usual_model();
  lw::Model model{std::as_bytes(std::span(file))};
  Weights w{device, *find_format("q4_0"), 6, 64, 1};
  Weights wide{device, *find_format("q4_0"), 6, 96, 1};
  Weights tall{device, *find_format("q4_0"), 7, 64, 1};
  Weights foreign{other, *find_format("q4_0"), 6, 64, 1};
  Floats x = make_x(2 * 64, 1);
  lw::Activation activation{device, x, 64};
  lw::Activation unset{device, 64, 2};
  lw::Activation foreign_x{other, x, 64};
  Floats y = Floats(64, untouched());

  [[nodiscard]] lw_output out(std::uint64_t stride = 0) { return {y.data(), LW_DTYPE_F32, stride}; }
  // `call` fails with `code` and a sentence that holds `words`, and writes no output.
  template <class Call>
  void expect(lw_status code, const char* words, Call&& call) {
    lw_error error = LW_ERROR_INIT;
    EXPECT_EQ(call(&error), code) << error.message;
    EXPECT_EQ(error.code, code);
    EXPECT_NE(std::string(error.message).find(words), std::string::npos) << error.message;
    EXPECT_EQ(call(nullptr), code) << "without an lw_error";
    EXPECT_EQ(count_untouched(y), y.size());
    lw_error unknown = LW_ERROR_INIT;
    unknown.struct_size = 17;
    EXPECT_EQ(call(&unknown), LW_ERROR_ARGUMENT);
    EXPECT_EQ(unknown.code, LW_OK) << "an lw_error of unknown size isn't written";
  }
  template <class Call>
  void refused(const char* words, Call&& call) {
    expect(LW_ERROR_ARGUMENT, words, call);
  }
  // A handle of another kind, as C lets one pass.
  template <class T, class U>
  static T* as(U* handle) {
    return reinterpret_cast<T*>(handle);
  }
};

TEST_F(Errors, AnErrorOfUnknownSizeStopsAGoodCall) {
  lw_error error = LW_ERROR_INIT;
  error.struct_size = 0;
  EXPECT_EQ(lw_gemv(device.get(), w.matrix.get(), activation.get(), out(), &error), LW_ERROR_ARGUMENT);
  EXPECT_EQ(count_untouched(y), y.size());
}

TEST_F(Errors, Formats) {
  lw_format_info info = LW_FORMAT_INFO_INIT;
  lw_format format{};
  EXPECT_EQ(lw_format_at(lw_format_count(), &info), LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw_format_at(0, nullptr), LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw_format_query(static_cast<lw_format>(4), &info), LW_ERROR_NOT_FOUND);
  EXPECT_EQ(lw_format_query(LW_F32, nullptr), LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw_format_by_name("q9_9", &format), LW_ERROR_NOT_FOUND);
  EXPECT_EQ(lw_format_by_name(nullptr, &format), LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw_format_by_name("f32", nullptr), LW_ERROR_ARGUMENT);
  info.struct_size = 20;
  EXPECT_EQ(lw_format_at(0, &info), LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw_format_query(LW_F32, &info), LW_ERROR_ARGUMENT);
}

TEST_F(Errors, Dequantize) {
  std::array<std::byte, 36> data{};
  float* to = y.data();
  const auto call = [&](lw_format format, const void* from, std::uint64_t bytes, std::uint64_t elements, float* into) {
    return [=](lw_error* error) { return lw_dequantize(format, from, bytes, elements, into, error); };
  };
  refused("no format has the number 99", call(static_cast<lw_format>(99), data.data(), 36, 64, to));
  refused("no whole blocks", call(LW_Q4_0, data.data(), 36, 63, to));
  refused("35 bytes given", call(LW_Q4_0, data.data(), 35, 64, to));
  refused("37 bytes given", call(LW_Q4_0, data.data(), 37, 64, to));
  refused("more than 2^64", call(LW_F32, data.data(), 36, std::uint64_t{1} << 62, to));
  refused("null pointer", call(LW_Q4_0, nullptr, 36, 64, to));
  refused("null pointer", call(LW_Q4_0, data.data(), 36, 64, nullptr));
  refused("aligned", call(LW_Q4_0, data.data(), 36, 64, reinterpret_cast<float*>(reinterpret_cast<char*>(to) + 1)));
  EXPECT_EQ(lw_dequantize(LW_Q4_0, nullptr, 0, 0, nullptr, nullptr), LW_OK);
  EXPECT_EQ(lw_dequantize(LW_Q4_0, data.data(), 36, 64, to, nullptr), LW_OK);
  EXPECT_EQ(count_untouched(y), 0u);
}

TEST_F(Errors, Models) {
  lw_model* opened = as<lw_model>(this);
  const auto open = [&](lw_error* error) { return lw_model_open(nullptr, &opened, error); };
  refused("null pointer", open);
  EXPECT_EQ(opened, nullptr) << "a call that fails leaves no handle";
  refused("null pointer", [&](lw_error* error) { return lw_model_open("x", nullptr, error); });
  refused("null pointer", [&](lw_error* error) { return lw_model_open_bytes(nullptr, 5, &opened, error); });
  refused("null pointer",
          [&](lw_error* error) { return lw_model_open_bytes(file.data(), file.size(), nullptr, error); });
  expect(LW_ERROR_NOT_FOUND, "", [&](lw_error* error) { return lw_model_open("/no/such/file", &opened, error); });

  lw_tensor_info info = LW_TENSOR_INFO_INIT;
  EXPECT_EQ(lw_model_tensor_count(nullptr), 0u);
  EXPECT_EQ(lw_model_tensor_count(as<lw_model>(device.get())), 0u);
  refused("model", [&](lw_error* error) { return lw_model_tensor(nullptr, 0, &info, error); });
  refused("model", [&](lw_error* error) { return lw_model_tensor(as<lw_model>(device.get()), 0, &info, error); });
  refused("struct_size", [&](lw_error* error) { return lw_model_tensor(model.get(), 0, nullptr, error); });
  refused("tensor 5 of a model of 5", [&](lw_error* error) { return lw_model_tensor(model.get(), 5, &info, error); });
  refused("model", [&](lw_error* error) { return lw_model_find(nullptr, "x", &info, error); });
  refused("null pointer", [&](lw_error* error) { return lw_model_find(model.get(), nullptr, &info, error); });
  expect(LW_ERROR_NOT_FOUND, "", [&](lw_error* error) { return lw_model_find(model.get(), "x", &info, error); });
  info.struct_size = 80;
  refused("struct_size", [&](lw_error* error) { return lw_model_tensor(model.get(), 0, &info, error); });
  refused("struct_size", [&](lw_error* error) { return lw_model_find(model.get(), "positions", &info, error); });
  EXPECT_EQ(info.name, nullptr);
}

TEST_F(Errors, Devices) {
  lw_device* opened = as<lw_device>(this);
  lw_device_options options = LW_DEVICE_OPTIONS_INIT;
  const auto open = [&](lw_error* error) { return lw_device_open(&options, &opened, error); };
  refused("null pointer", [&](lw_error* error) { return lw_device_open(&options, nullptr, error); });
  options.name = "gpu";
  expect(LW_ERROR_NOT_FOUND, "'gpu'", open);
  EXPECT_EQ(opened, nullptr);
  options.name = nullptr;
  options.kernel = "fastest";
  expect(LW_ERROR_NOT_FOUND, "'fastest'", open);
  options.kernel = "cpu.gemv.q4_K.raw.x16.scalar2";
  expect(LW_ERROR_NOT_FOUND, "scalar2", open);
  options.kernel = "";
  expect(LW_ERROR_NOT_FOUND, "''", open);
  options.kernel = nullptr;
  options.threads = 1000000;
  refused("1000000 threads", open);
  options.threads = 1;
  options.struct_size = 8;
  refused("struct_size", open);

  lw_device_info info = LW_DEVICE_INFO_INIT;
  EXPECT_EQ(lw_device_query(nullptr, &info), LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw_device_query(as<lw_device>(model.get()), &info), LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw_device_query(device.get(), nullptr), LW_ERROR_ARGUMENT);
  ASSERT_EQ(lw_device_query(device.get(), &info), LW_OK);
  EXPECT_EQ(info.threads, 2u);
  EXPECT_STREQ(info.name, "cpu");
  EXPECT_NE(info.description[0], '\0');
  info.struct_size = 1;
  EXPECT_EQ(lw_device_query(device.get(), &info), LW_ERROR_ARGUMENT);
}

TEST_F(Errors, Matrices) {
  lw_matrix* made = as<lw_matrix>(this);
  refused("device",
          [&](lw_error* error) { return lw_matrix_from_tensor(nullptr, model.get(), "norm.weight", &made, error); });
  EXPECT_EQ(made, nullptr);
  refused("model",
          [&](lw_error* error) { return lw_matrix_from_tensor(device.get(), nullptr, "norm.weight", &made, error); });
  refused("null pointer",
          [&](lw_error* error) { return lw_matrix_from_tensor(device.get(), model.get(), nullptr, &made, error); });
  refused("null pointer", [&](lw_error* error) {
    return lw_matrix_from_tensor(device.get(), model.get(), "norm.weight", nullptr, error);
  });

  const void* data = w.bytes.data();
  const auto bare = [&](lw_format format, std::uint64_t rows, std::uint64_t cols, const void* from,
                        std::uint64_t bytes) {
    return [=, this, &made](lw_error* error) {
      return lw_matrix_from_bytes(device.get(), format, rows, cols, from, bytes, &made, error);
    };
  };
  refused("device",
          [&](lw_error* error) { return lw_matrix_from_bytes(nullptr, LW_Q4_0, 6, 64, data, 216, &made, error); });
  refused("null pointer", [&](lw_error* error) {
    return lw_matrix_from_bytes(device.get(), LW_Q4_0, 6, 64, data, 216, nullptr, error);
  });
  refused("no format has the number 5", bare(static_cast<lw_format>(5), 6, 64, data, 216));
  refused("no format", bare(static_cast<lw_format>(0xFFFFFFFFu), 6, 64, data, 216));
  refused("0 columns", bare(LW_Q4_0, 6, 0, data, 0));
  refused("no whole blocks", bare(LW_Q4_0, 6, 65, data, 216));
  refused("215 bytes given", bare(LW_Q4_0, 6, 64, data, 215));
  refused("217 bytes given", bare(LW_Q4_0, 6, 64, data, 217));
  refused("more than 2^64", bare(LW_F32, std::uint64_t{1} << 40, std::uint64_t{1} << 40, data, 216));
  refused("null pointer", bare(LW_Q4_0, 6, 64, nullptr, 216));
  refused("end of memory", bare(LW_Q4_0, UINT64_MAX / 18, 32, data, UINT64_MAX / 18 * 18));

  lw_matrix_info info = LW_MATRIX_INFO_INIT;
  EXPECT_EQ(lw_matrix_query(nullptr, &info), LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw_matrix_query(as<lw_matrix>(activation.get()), &info), LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw_matrix_query(w.matrix.get(), nullptr), LW_ERROR_ARGUMENT);
  ASSERT_EQ(lw_matrix_query(w.matrix.get(), &info), LW_OK);
  EXPECT_EQ(info.format, LW_Q4_0);
  EXPECT_EQ(info.rows, 6u);
  EXPECT_EQ(info.cols, 64u);
  EXPECT_EQ(info.bytes, 216u);
}

TEST_F(Errors, Activations) {
  lw_activation* made = as<lw_activation>(this);
  const auto create = [&](lw_planes planes, std::uint64_t tokens, std::uint64_t cols) {
    return [=, this, &made](lw_error* error) {
      return lw_activation_create(device.get(), planes, tokens, cols, &made, error);
    };
  };
  refused("device", [&](lw_error* error) { return lw_activation_create(nullptr, LW_X16, 1, 64, &made, error); });
  EXPECT_EQ(made, nullptr);
  refused("null pointer",
          [&](lw_error* error) { return lw_activation_create(device.get(), LW_X16, 1, 64, nullptr, error); });
  refused("0 planes", create(static_cast<lw_planes>(0), 1, 64));
  refused("4 planes", create(static_cast<lw_planes>(4), 1, 64));
  refused("", create(LW_X16, 1, 0));
  refused("64 bits", create(LW_X16, std::uint64_t{1} << 40, std::uint64_t{1} << 40));
  expect(LW_ERROR_MEMORY, "", create(LW_X16, std::uint64_t{1} << 30, std::uint64_t{1} << 24));

  std::uint64_t bytes = 0;
  refused("device", [&](lw_error* error) { return lw_activation_workspace(nullptr, LW_X16, 1, 64, &bytes, error); });
  refused("null pointer",
          [&](lw_error* error) { return lw_activation_workspace(device.get(), LW_X16, 1, 64, nullptr, error); });
  refused("planes", [&](lw_error* error) {
    return lw_activation_workspace(device.get(), static_cast<lw_planes>(9), 1, 64, &bytes, error);
  });
  refused("", [&](lw_error* error) { return lw_activation_workspace(device.get(), LW_X16, 1, 0, &bytes, error); });
  refused("", [&](lw_error* error) {
    return lw_activation_create_in(device.get(), LW_X16, 1, 64, nullptr, 1 << 20, &made, error);
  });
  alignas(64) std::array<std::byte, 64> memory{};
  refused("given 64", [&](lw_error* error) {
    return lw_activation_create_in(device.get(), LW_X16, 1, 64, memory.data(), 64, &made, error);
  });
  refused("null pointer", [&](lw_error* error) {
    return lw_activation_create_in(device.get(), LW_X16, 1, 64, memory.data(), 64, nullptr, error);
  });
  refused("end of memory", [&](lw_error* error) {
    return lw_activation_create_in(device.get(), LW_X16, 1, 64, memory.data(), UINT64_MAX, &made, error);
  });

  const auto set = [&](lw_dtype dtype, const void* from, std::uint64_t tokens, std::uint64_t stride) {
    return
        [=, this](lw_error* error) { return lw_activation_set(activation.get(), dtype, from, tokens, stride, error); };
  };
  refused("activation",
          [&](lw_error* error) { return lw_activation_set(nullptr, LW_DTYPE_F32, x.data(), 1, 0, error); });
  refused("activation", [&](lw_error* error) {
    return lw_activation_set(as<lw_activation>(w.matrix.get()), LW_DTYPE_F32, x.data(), 1, 0, error);
  });
  refused("lw_dtype", set(static_cast<lw_dtype>(3), x.data(), 1, 0));
  refused("null pointer", set(LW_DTYPE_F32, nullptr, 1, 0));
  refused("aligned", set(LW_DTYPE_F32, reinterpret_cast<const char*>(x.data()) + 2, 1, 0));
  refused("stride", set(LW_DTYPE_F32, x.data(), 2, 63));
  refused("room for", set(LW_DTYPE_F32, x.data(), 3, 0));
  refused("end of memory", set(LW_DTYPE_F32, x.data(), 2, std::uint64_t{1} << 62));

  lw_activation_info info = LW_ACTIVATION_INFO_INIT;
  EXPECT_EQ(lw_activation_query(nullptr, &info), LW_ERROR_ARGUMENT);
  EXPECT_EQ(lw_activation_query(activation.get(), nullptr), LW_ERROR_ARGUMENT);
  ASSERT_EQ(lw_activation_query(activation.get(), &info), LW_OK);
  EXPECT_EQ(info.planes, LW_X16);
  EXPECT_EQ(info.tokens, 2u) << "none of the calls above changed it";
  EXPECT_EQ(info.is_set, 1);
  ASSERT_EQ(lw_activation_query(unset.get(), &info), LW_OK);
  EXPECT_EQ(info.is_set, 0);
  EXPECT_EQ(info.max_tokens, 2u);
}

TEST_F(Errors, Gemv) {
  const auto call = [&](lw_device* d, const lw_matrix* m, const lw_activation* a, lw_output to) {
    return [=](lw_error* error) { return lw_gemv(d, m, a, to, error); };
  };
  lw_device* d = device.get();
  const lw_matrix* m = w.matrix.get();
  const lw_activation* a = activation.get();
  refused("device", call(nullptr, m, a, out()));
  refused("device", call(as<lw_device>(model.get()), m, a, out()));
  refused("matrix", call(d, nullptr, a, out()));
  refused("matrix", call(d, as<const lw_matrix>(a), a, out()));
  refused("activation", call(d, m, nullptr, out()));
  refused("activation", call(d, m, as<const lw_activation>(m), out()));
  refused("another device", call(d, foreign.matrix.get(), a, out()));
  refused("another device", call(d, m, foreign_x.get(), out()));
  refused("never set", call(d, m, unset.get(), out()));
  refused("96 columns, the activation 64", call(d, wide.matrix.get(), a, out()));
  refused("null pointer", call(d, m, a, {nullptr, LW_DTYPE_F32, 0}));
  refused("lw_dtype", call(d, m, a, {y.data(), static_cast<lw_dtype>(7), 0}));
  refused("aligned", call(d, m, a, {reinterpret_cast<char*>(y.data()) + 2, LW_DTYPE_F32, 0}));
  refused("stride", call(d, m, a, out(5)));
  refused("end of memory", call(d, m, a, out(UINT64_MAX)));
  refused("end of memory", call(d, m, a, out(std::uint64_t{1} << 61)));

  const Bytes before = w.bytes;
  auto* inside = reinterpret_cast<float*>(reinterpret_cast<std::uintptr_t>(w.bytes.data() + 8) & ~std::uintptr_t{3});
  refused("overlaps the weights", call(d, m, a, {inside, LW_DTYPE_F32, 0}));
  EXPECT_EQ(w.bytes, before);

  const auto part = [&](std::uint32_t index, std::uint32_t parts) {
    return [=, this](lw_error* error) { return lw_gemv_part(d, m, a, out(), index, parts, error); };
  };
  refused("part 0 of 0", part(0, 0));
  refused("part 2 of 2", part(2, 2));
  refused("null pointer", [&](lw_error* error) {
    return lw_gemv_part(d, m, a, {nullptr, LW_DTYPE_F32, 0}, 0, 1, error);
  });

  char text[10];
  refused("text", [&](lw_error* error) { return lw_gemv_explain(d, m, a, nullptr, 10, error); });
  refused("text", [&](lw_error* error) { return lw_gemv_explain(d, m, a, text, 0, error); });
  refused("matrix", [&](lw_error* error) { return lw_gemv_explain(d, nullptr, a, text, 10, error); });
}

TEST_F(Errors, Groups) {
  lw_device* d = device.get();
  const lw_activation* a = activation.get();
  std::array<const lw_matrix*, 3> m = {w.matrix.get(), tall.matrix.get(), w.matrix.get()};
  std::array<lw_output, 3> ys = {lw_output{y.data(), LW_DTYPE_F32, 0}, lw_output{y.data() + 12, LW_DTYPE_F32, 0},
                                 lw_output{y.data() + 26, LW_DTYPE_F32, 0}};
  const auto call = [&](lw_error* error) { return lw_gemv_group(d, 3, m.data(), a, ys.data(), error); };
  refused("null pointer", [&](lw_error* error) { return lw_gemv_group(d, 3, nullptr, a, ys.data(), error); });
  refused("null pointer", [&](lw_error* error) { return lw_gemv_group(d, 3, m.data(), a, nullptr, error); });
  refused("device", [&](lw_error* error) { return lw_gemv_group(nullptr, 3, m.data(), a, ys.data(), error); });
  refused("never set", [&](lw_error* error) { return lw_gemv_group(d, 3, m.data(), unset.get(), ys.data(), error); });
  // The last of three: what came before it isn't written either.
  m[2] = nullptr;
  refused("matrix 2 of the group", call);
  m[2] = wide.matrix.get();
  refused("matrix 2 of the group", call);
  m[2] = foreign.matrix.get();
  refused("another device", call);
  m[2] = w.matrix.get();
  ys[2].data = nullptr;
  refused("matrix 2 of the group: y is a null pointer", call);
  ys[2] = {y.data() + 25, LW_DTYPE_F32, 0};
  refused("y 2 overlaps y 1", call);
  ys[2] = ys[0];
  refused("y 2 overlaps y 0", call);
  ys[2] = {y.data() + 26, LW_DTYPE_F32, 5};
  refused("stride", call);
  const Bytes before = tall.bytes;
  ys[2] = {reinterpret_cast<float*>(reinterpret_cast<std::uintptr_t>(tall.bytes.data() + 8) & ~std::uintptr_t{3}),
           LW_DTYPE_F32, 0};
  refused("weights of matrix 1", call);
  EXPECT_EQ(tall.bytes, before);
}

TEST_F(Errors, Experts) {
  lw_device* d = device.get();
  const lw_activation* a = activation.get();
  std::array<const lw_matrix*, 2> m = {w.matrix.get(), w.matrix.get()};
  std::array<std::int32_t, 4> ids = {0, 1, 1, 0};
  const auto call = [&](lw_error* error) { return lw_gemv_experts(d, 2, m.data(), a, ids.data(), 2, out(), error); };
  refused("device",
          [&](lw_error* error) { return lw_gemv_experts(nullptr, 2, m.data(), a, ids.data(), 2, out(), error); });
  refused("never set",
          [&](lw_error* error) { return lw_gemv_experts(d, 2, m.data(), unset.get(), ids.data(), 2, out(), error); });
  refused("null pointer",
          [&](lw_error* error) { return lw_gemv_experts(d, 2, nullptr, a, ids.data(), 2, out(), error); });
  refused("null pointer",
          [&](lw_error* error) { return lw_gemv_experts(d, 2, m.data(), a, nullptr, 2, out(), error); });
  refused("passes memory",
          [&](lw_error* error) { return lw_gemv_experts(d, 2, m.data(), a, ids.data(), UINT64_MAX, out(), error); });
  refused("null pointer", [&](lw_error* error) {
    return lw_gemv_experts(d, 2, m.data(), a, ids.data(), 2, {nullptr, LW_DTYPE_F32, 0}, error);
  });
  refused("stride", [&](lw_error* error) { return lw_gemv_experts(d, 2, m.data(), a, ids.data(), 2, out(3), error); });
  refused("of 0 experts",
          [&](lw_error* error) { return lw_gemv_experts(d, 0, nullptr, a, ids.data(), 2, out(), error); });
  // The last id: what came before it isn't written either.
  for (const std::int32_t bad : {2, -1, INT32_MAX, INT32_MIN}) {
    ids[3] = bad;
    refused("id 1 of token 1", call);
  }
  ids[3] = 0;
  m[1] = tall.matrix.get();
  refused("rows", call);
  m[1] = nullptr;
  refused("matrix", call);
  m[1] = wide.matrix.get();
  refused("columns", call);
  m[1] = w.matrix.get();
  std::array<std::int32_t, 64> many{};
  refused("overlaps the ids", [&](lw_error* error) {
    return lw_gemv_experts(d, 2, m.data(), a, many.data(), 2, {many.data(), LW_DTYPE_F32, 0}, error);
  });
  const Bytes before = w.bytes;
  refused("overlaps the weights", [&](lw_error* error) {
    auto* inside = reinterpret_cast<float*>(reinterpret_cast<std::uintptr_t>(w.bytes.data() + 8) & ~std::uintptr_t{3});
    return lw_gemv_experts(d, 2, m.data(), a, ids.data(), 2, {inside, LW_DTYPE_F32, 0}, error);
  });
  EXPECT_EQ(w.bytes, before);
  EXPECT_EQ(call(nullptr), LW_OK) << "and the same call, unspoilt, succeeds";
  EXPECT_EQ(count_untouched(y), y.size() - 4 * 6);
}

TEST_F(Errors, ClosingNothingOrSomethingElseDoesNothing) {
  lw_model_close(nullptr);
  lw_device_close(nullptr);
  lw_matrix_free(nullptr);
  lw_activation_free(nullptr);
  lw_model_close(as<lw_model>(device.get()));
  lw_device_close(as<lw_device>(model.get()));
  lw_matrix_free(as<lw_matrix>(activation.get()));
  lw_activation_free(as<lw_activation>(w.matrix.get()));
  EXPECT_EQ(lw_gemv(device.get(), w.matrix.get(), activation.get(), out(), nullptr), LW_OK);
}

}  // namespace
}  // namespace lanewise::test
