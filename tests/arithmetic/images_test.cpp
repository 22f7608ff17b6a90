// activations.def has two readers, CMake and the preprocessor: they must see the same table.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "arithmetic/activation.h"

namespace lanewise::trial {
namespace {

TEST(Images, AreTheSameForCMakeAndCpp) {
  const std::vector<std::string_view> cmake = {
#include "arithmetic/images_seen_by_cmake.inc"
  };
  const std::vector<std::string_view> cpp = {
#define LW_IMAGE(name, content, order) #name,
#include "arithmetic/activations.def"
#undef LW_IMAGE
  };
  EXPECT_EQ(cmake, cpp);
  ASSERT_FALSE(cpp.empty());
  for (std::size_t i = 0; i < cpp.size(); ++i) EXPECT_EQ(image_name(static_cast<Image>(i)), cpp[i]);
}

}  // namespace
}  // namespace lanewise::trial
