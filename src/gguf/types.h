// Every type number a tensor of a GGUF file can have: the weight formats, plain data, ggml's activation formats, and
// the numbers that are no longer in use.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "formats/formats.h"

namespace lanewise::gguf {

enum class TypeKind : std::uint8_t { WEIGHT, DATA, ACTIVATION, REMOVED };

struct TypeInfo {
  std::uint32_t id;       ///< ggml's number
  std::string_view name;  ///< ggml's spelling; null-terminated
  std::uint32_t block_elements;
  std::uint32_t block_bytes;  ///< both 0 for a removed type
  TypeKind kind;
};

/// By ascending number.
std::span<const TypeInfo> tensor_types();
/// nullptr where the number is unknown.
const TypeInfo* find_type(std::uint32_t id);

}  // namespace lanewise::gguf
