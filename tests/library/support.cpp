#include "library/support.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace lanewise::test {

std::vector<std::uint8_t> make_model(std::span<const ModelTensor> tensors) {
  gguf::Writer writer;
  std::vector<std::vector<std::uint8_t>> data;
  EXPECT_TRUE(writer.add_string("general.architecture", "test").ok());
  for (const ModelTensor& tensor : tensors) {
    const FormatInfo* info = find_format(std::string_view(tensor.format));
    std::uint64_t elements = 1;
    for (const std::uint64_t dim : tensor.dims) elements *= dim;
    constexpr std::uint32_t i32_type = 26;
    EXPECT_TRUE(writer.add_tensor(tensor.name, info == nullptr ? i32_type : info->id, tensor.dims).ok()) << tensor.name;
    if (info == nullptr) {
      data.emplace_back(4 * elements, std::uint8_t{1});
    } else {
      const Bytes bytes = make_weights(*info, elements / tensor.dims[0], tensor.dims[0], data.size() + 1);
      const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
      data.emplace_back(first, first + bytes.size());
    }
  }
  std::vector<std::uint8_t> file;
  EXPECT_TRUE(writer.begin(&file).ok());
  for (const auto& bytes : data) EXPECT_TRUE(writer.append(bytes).ok());
  EXPECT_TRUE(writer.finish().ok());
  return file;
}

std::vector<std::uint8_t> usual_model() {
  const std::array tensors = {
      ModelTensor{"norm.weight", "f32", {256}},
      ModelTensor{"blk.0.q.weight", "q4_K", {512, 48}},
      ModelTensor{"blk.0.v.weight", "q6_K", {512, 16}},
      ModelTensor{"blk.0.exps.weight", "q8_0", {512, 40, 3}},
      ModelTensor{"positions", "i32", {16}},
  };
  return make_model(tensors);
}

}  // namespace lanewise::test
