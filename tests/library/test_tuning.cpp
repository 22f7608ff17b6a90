// lw_tuning_load: what it takes, what it refuses, and that no bit of any product depends on it.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "kernels/parts.h"
#include "library/handles.h"
#include "library/support.h"
#include "tune/candidates.h"
#include "tune/store.h"

namespace lanewise::test {
namespace {

constexpr std::uint64_t tuned_rows = 400;
constexpr std::uint64_t tuned_tokens = 2;

class TuningOfTheLibrary : public testing::Test {
 protected:
  TuningOfTheLibrary() {
    folder_ = std::filesystem::temp_directory_path() / ("lanewise-tuning-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_ / "lanewise");
    ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  ~TuningOfTheLibrary() override {
    ::unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(folder_);
  }
  void write(const tune::Store& store) const { write_text(tune::store_text(store)); }
  void write_text(const std::string& text) const {
    std::ofstream(*tune::store_path(store_.fingerprint), std::ios::binary) << text;
  }
  // One entry: this shape by that tile.
  void put(const FormatInfo& info, Layout layout, std::uint32_t threads, const std::string& tile) {
    const Problem problem{info.format, tuned_rows, odd_cols(info), tuned_tokens, Planes::x16, layout};
    store_.put({key_of(problem, threads), tile, "another", 2, 1, 0.5, 45, 0, "2026-11-30"});
  }
  static lw_status load(const lw::Device& device, const char* path, std::uint64_t* entries, std::string* message) {
    lw_error error = LW_ERROR_INIT;
    const lw_status status = lw_tuning_load(device.get(), path, entries, &error);
    *message = error.message;
    return status;
  }

  std::filesystem::path folder_;
  tune::Store store_{tune::fingerprint_of(nullptr), {}};
};

struct Products {
  lw::Device device;
  Weights w;
  lw::Activation x;

  Products(const FormatInfo& info, std::uint32_t threads, const char* layout)
      : device({.threads = threads, .layout = layout}),
        w(device, info, tuned_rows, odd_cols(info), 3),
        x(device, make_x(tuned_tokens * odd_cols(info), 4), odd_cols(info), LW_X16) {}
  Floats y() {
    Floats out(tuned_tokens * tuned_rows, untouched());
    lw::gemv(device, w.matrix, x, out);
    return out;
  }
  Floats y_in_parts() {
    Floats out(tuned_tokens * tuned_rows, untouched());
    lw_error error = LW_ERROR_INIT;
    for (std::uint32_t part = 0; part < 3; ++part) {
      EXPECT_EQ(lw_gemv_part(device.get(), w.matrix.get(), x.get(), {out.data(), LW_DTYPE_F32, 0}, part, 3, &error),
                LW_OK)
          << error.message;
    }
    return out;
  }
  std::string why() {
    char text[400];
    EXPECT_EQ(lw_gemv_explain(device.get(), w.matrix.get(), x.get(), text, sizeof text, nullptr), LW_OK);
    return text;
  }
};

TEST_F(TuningOfTheLibrary, ChangesNoBitUnderAnyTile) {
  for (const Format format : {Format::Q4_K, Format::Q8_0, Format::IQ2_XXS, Format::MXFP4, Format::F16}) {
    const FormatInfo& info = format_info(format);
    for (const Layout layout : {Layout::raw, Layout::rows16}) {
      const std::string name(layout_name(layout));
      lw_error error = LW_ERROR_INIT;
      if (layout == Layout::rows16 && !lw::Device::open({.layout = "rows16"}, error)) continue;
      Products products(info, 3, name.c_str());
      const Floats expected = products.y();
      ASSERT_TRUE(is_telling(expected));
      const Layout settled = has_layout(layout, info) ? layout : Layout::raw;
      const Problem problem{format, tuned_rows, odd_cols(info), tuned_tokens, Planes::x16, settled};
      const tune::Machine machine{"cpu", products.device.get()->capabilities, nullptr, 3, 10};
      for (const tune::Candidate& tile : tune::candidates(machine, problem)) {
        store_.entries.clear();
        put(info, settled, 3, tile.text());
        write(store_);
        std::uint64_t entries = 0;
        std::string message;
        ASSERT_EQ(load(products.device, nullptr, &entries, &message), LW_OK) << message;
        EXPECT_EQ(entries, 1U) << tile.text();
        EXPECT_TRUE(same_bits(products.y(), expected)) << tile.text();
        EXPECT_TRUE(same_bits(products.y_in_parts(), expected)) << tile.text();
        EXPECT_NE(products.why().find("tuned on "), std::string::npos) << products.why();
        EXPECT_NE(products.why().find("." + std::string(tile.kernel->name) + ": "), std::string::npos)
            << products.why();
        const std::uint32_t parts = tune::parts_of(machine, problem, tile.setting);
        EXPECT_NE(products.why().find(" in " + std::to_string(parts) + " part"), std::string::npos) << products.why();
      }
    }
  }
}

TEST_F(TuningOfTheLibrary, IsForItsShapeAndThreadsAlone) {
  const FormatInfo& info = format_info(Format::Q4_K);
  put(info, Layout::raw, 3, "scalar:parts=2");
  write(store_);
  std::string message;
  Products same(info, 3, "raw");
  Products other(info, 2, "raw");
  for (Products* each : {&same, &other}) ASSERT_EQ(load(each->device, nullptr, nullptr, &message), LW_OK) << message;
  EXPECT_NE(same.why().find("tuned on"), std::string::npos) << same.why();
  EXPECT_NE(other.why().find("nobody measured"), std::string::npos) << other.why();
}

TEST_F(TuningOfTheLibrary, GivesCallersThreadsNoMoreTasksThanPromised) {
  const FormatInfo& info = format_info(Format::Q4_K);
  put(info, Layout::raw, 3, "scalar:parts=24");
  write(store_);
  std::uint32_t most = 0;
  const auto parallel = [](void* user, std::uint32_t count, void (*task)(void*, std::uint32_t), void* context) {
    *static_cast<std::uint32_t*>(user) = std::max(*static_cast<std::uint32_t*>(user), count);
    for (std::uint32_t i = 0; i < count; ++i) task(context, i);
  };
  lw_device_options options = LW_DEVICE_OPTIONS_INIT;
  options.threads = 3;
  options.parallel_for = parallel;
  options.parallel_user = &most;
  lw_device* device = nullptr;
  ASSERT_EQ(lw_device_open(&options, &device, nullptr), LW_OK);
  ASSERT_EQ(lw_tuning_load(device, nullptr, nullptr, nullptr), LW_OK);
  const Bytes bytes = make_weights(info, tuned_rows, odd_cols(info), 3);
  lw_matrix* matrix = nullptr;
  ASSERT_EQ(
      lw_matrix_from_bytes(device, LW_Q4_K, tuned_rows, odd_cols(info), bytes.data(), bytes.size(), &matrix, nullptr),
      LW_OK);
  lw_activation* x = nullptr;
  ASSERT_EQ(lw_activation_create(device, LW_X16, tuned_tokens, odd_cols(info), &x, nullptr), LW_OK);
  const Floats values = make_x(tuned_tokens * odd_cols(info), 4);
  ASSERT_EQ(lw_activation_set(x, LW_DTYPE_F32, values.data(), tuned_tokens, 0, nullptr), LW_OK);
  Floats y(tuned_tokens * tuned_rows);
  ASSERT_EQ(lw_gemv(device, matrix, x, {y.data(), LW_DTYPE_F32, 0}, nullptr), LW_OK);
  EXPECT_EQ(most, 3U);
  lw_activation_free(x);
  lw_matrix_free(matrix);
  lw_device_close(device);
}

TEST_F(TuningOfTheLibrary, RefusesWhatIsMissingDamagedOrForeignAndKeepsWhatItHad) {
  const FormatInfo& info = format_info(Format::Q4_K);
  Products products(info, 3, "raw");
  const std::string before = products.why();
  std::string message;
  std::uint64_t entries = 77;
  EXPECT_EQ(load(products.device, nullptr, &entries, &message), LW_ERROR_NOT_FOUND) << message;
  put(info, Layout::raw, 3, "scalar");
  const std::string whole = tune::store_text(store_);
  write_text(whole.substr(0, whole.size() / 2));
  EXPECT_EQ(load(products.device, nullptr, &entries, &message), LW_ERROR_ARGUMENT);
  EXPECT_NE(message.find("tuning-cpu-"), std::string::npos) << message;
  tune::Store foreign = store_;
  foreign.fingerprint.kernels = "0000000000000000";
  write(foreign);
  EXPECT_EQ(load(products.device, nullptr, &entries, &message), LW_ERROR_UNSUPPORTED);
  EXPECT_NE(message.find("made with kernels '0000000000000000'"), std::string::npos) << message;
  EXPECT_EQ(entries, 77U);
  EXPECT_EQ(products.why(), before);
  EXPECT_EQ(load(products.device, "/nowhere/at/all", &entries, &message), LW_ERROR_NOT_FOUND);
  EXPECT_EQ(lw_tuning_load(nullptr, nullptr, nullptr, nullptr), LW_ERROR_ARGUMENT);
  write(store_);
  EXPECT_EQ(load(products.device, nullptr, &entries, &message), LW_OK) << message;
  EXPECT_EQ(entries, 1U);
  EXPECT_NE(products.why(), before);
}

}  // namespace
}  // namespace lanewise::test
