// Touches everything that a model offers: every pair, every element of every array, both ends of every tensor.
#pragma once

#include <cstdint>

#include "gguf/escape.h"
#include "gguf/reader.h"

namespace lanewise::gguf::test {

// A sum over what was read, so that no read can be left out by the compiler.
inline std::uint64_t walk(const Value& value) {
  std::uint64_t sum = value.as_unsigned().value_or(1) + static_cast<std::uint64_t>(value.as_integer().value_or(2));
  if (const auto number = value.as_float()) sum += *number < 1.0 ? 3u : 4u;
  if (const auto flag = value.as_bool()) sum += *flag ? 5u : 6u;
  if (const auto text = value.as_string()) sum += escape_for_json(*text).size() + escape_for_terminal(*text).size();
  if (const auto array = value.as_array()) {
    for (const Value element : *array) sum += walk(element);  // as deep as the reader lets arrays stand in arrays
  }
  return sum;
}

// `sound`: the bytes are those that were opened, so that everything can be found again by its name.
inline std::uint64_t walk(const Model& model, bool sound = true) {
  std::uint64_t sum = 0;
  for (std::uint32_t shard = 0; shard < model.shard_count(); ++shard) {
    const Metadata& metadata = model.metadata(shard);
    for (std::uint64_t i = 0; i < metadata.size(); ++i) {
      const Pair pair = metadata.at(i);
      sum += walk(pair.value);
      if (!metadata.find(pair.key) && sound) __builtin_trap();
    }
  }
  for (std::uint64_t i = 0; i < model.tensor_count(); ++i) {
    const TensorView tensor = model.tensor(i);
    if (model.tensor_index(tensor.name) != i) __builtin_trap();  // names are copies
    if (tensor.name.data()[tensor.name.size()] != '\0') __builtin_trap();
    if (!tensor.bytes.empty()) sum += std::uint64_t{tensor.bytes.front()} + tensor.bytes.back();
    sum += tensor.elements() + (model.companion_scale(tensor) ? 1u : 0u);
    const std::string last = std::string(tensor.name) + "[" + std::to_string(tensor.matrices() - 1) + "]";
    for (const auto& matrix : {model.matrix(tensor.name), model.matrix(last), model.matrix(last + "x")}) {
      if (!matrix) {
        sum += matrix.error().message.size();
      } else if (!matrix->bytes.empty()) {
        sum += std::uint64_t{matrix->bytes.front()} + matrix->bytes.back();
      }
    }
  }
  return sum;
}

}  // namespace lanewise::gguf::test
