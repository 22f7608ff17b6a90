#include "vulkan/device.h"

#include <cstdlib>
#include <string>

namespace lanewise::test {
namespace {

bool is_required() {
  const char* const required = std::getenv("LANEWISE_REQUIRE_VULKAN");
  return required != nullptr && std::string(required) == "1";
}

void give_up(const std::string& why) {
  if (is_required()) {
    FAIL() << why << ", and LANEWISE_REQUIRE_VULKAN is 1";
  } else {
    GTEST_SKIP() << "skipped: " << why;
  }
}

}  // namespace

std::shared_ptr<gpu::Device> open_vulkan(vulkan::Overrides overrides) {
  // What instruments shaders takes pushed descriptors for ones that were never written (1.3.239).
  if (const char* const on = std::getenv("LANEWISE_VULKAN_VALIDATE_SHADERS"); on != nullptr && *on == '1') {
    overrides.no_push = true;
  }
  if (std::getenv("LANEWISE_VULKAN_VALIDATE") == nullptr) {
    setenv("LANEWISE_VULKAN_VALIDATE", "1", 1);
    // Without the layer the bits are tested all the same, but where all must be there.
    if (auto listed = vulkan::list_devices(); !listed && !is_required()) setenv("LANEWISE_VULKAN_VALIDATE", "0", 1);
  }
  if (std::getenv("XDG_CACHE_HOME") == nullptr) setenv("XDG_CACHE_HOME", LANEWISE_BINARY_DIR "/cache", 1);
  auto opened = vulkan::open_device(0, overrides);
  if (!opened) {
    give_up(opened.error().message);
    return nullptr;
  }
  testing::Test::RecordProperty("device", (*opened)->info().name);
  return *opened;
}

void expect_no_complaint(gpu::Device& device) {
  const Outcome waited = device.wait(nullptr);
  EXPECT_TRUE(waited) << waited.error().message;
}

}  // namespace lanewise::test
