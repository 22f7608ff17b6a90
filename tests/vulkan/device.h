// The Vulkan device that tests run on, under the validation layer where that is installed.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "backends/vulkan/vulkan.h"

namespace lanewise::test {

/// Null where there is none, and then the test is skipped or, with LANEWISE_REQUIRE_VULKAN=1, has failed: return.
std::shared_ptr<gpu::Device> open_vulkan(vulkan::Overrides overrides = {});

/// What the validation layer has said of this process, as a failure.
void expect_no_complaint(gpu::Device& device);

}  // namespace lanewise::test

/// Declares `name`, or ends the test.
#define LW_VULKAN_OR_RETURN(name, ...)                          \
  const auto name = ::lanewise::test::open_vulkan(__VA_ARGS__); \
  if (name == nullptr) return
