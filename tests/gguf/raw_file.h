// GGUF files put together byte by byte, sound or not: shares nothing with the reader or the writer.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lanewise::gguf::test {

using Bytes = std::vector<std::uint8_t>;

// Numbers of value types and tensor types as the format's specification has them, written down again on purpose.
inline constexpr std::uint32_t u8_t = 0, i8_t = 1, u16_t = 2, i16_t = 3, u32_t = 4, i32_t = 5, f32_t = 6, bool_t = 7,
                               string_t = 8, array_t = 9, u64_t = 10, i64_t = 11, f64_t = 12;
inline constexpr std::uint32_t f32 = 0, f16 = 1, q4_0 = 2, q8_0 = 8, q8_1 = 9, q4_k = 12, q8_k = 15, iq2_xxs = 16,
                               i8 = 24, i16 = 25, i32 = 26, i64 = 27, f64 = 28, mxfp4 = 39, nvfp4 = 40, q2_0 = 42;

inline Bytes text(std::string_view characters) { return {characters.begin(), characters.end()}; }

inline Bytes join(std::initializer_list<Bytes> parts) {
  Bytes out;
  for (const Bytes& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

inline Bytes repeat(const Bytes& part, std::size_t times) {
  Bytes out;
  for (std::size_t i = 0; i < times; ++i) out.insert(out.end(), part.begin(), part.end());
  return out;
}

inline Bytes number(std::uint64_t value, std::size_t width, bool big_endian = false) {
  Bytes out(width);
  for (std::size_t i = 0; i < width; ++i) {
    out[big_endian ? width - 1 - i : i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
  return out;
}
inline Bytes n8(std::uint64_t value) { return number(value, 1); }
inline Bytes n16(std::uint64_t value) { return number(value, 2); }
inline Bytes n32(std::uint64_t value) { return number(value, 4); }
inline Bytes n64(std::uint64_t value) { return number(value, 8); }

inline Bytes string(std::string_view characters) { return join({n64(characters.size()), text(characters)}); }
inline Bytes pair(std::string_view key, std::uint32_t type, const Bytes& value) {
  return join({string(key), n32(type), value});
}
inline Bytes array(std::uint32_t element, std::uint64_t count, const Bytes& elements) {
  return join({n32(element), n64(count), elements});
}
// `depth` arrays of one element each around an empty array of bytes: depth + 1 in all.
inline Bytes nested(std::size_t depth) { return join({repeat(array(array_t, 1, {}), depth), array(u8_t, 0, {})}); }

inline Bytes entry(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                   std::uint64_t offset, std::optional<std::uint32_t> dim_count = std::nullopt) {
  Bytes out = join({string(name), n32(dim_count.value_or(static_cast<std::uint32_t>(dims.size())))});
  for (const std::uint64_t dim : dims) {
    const Bytes word = n64(dim);
    out.insert(out.end(), word.begin(), word.end());
  }
  return join({out, n32(type), n64(offset)});
}

inline Bytes padded(Bytes bytes, std::size_t alignment = 32) {
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
  return bytes;
}

// One block of q4_0: the half 0.5 and sixteen bytes of codes.
inline Bytes q4_0_block(std::uint32_t scale = 0x3800) {
  Bytes out = n16(scale);
  for (std::uint8_t i = 0; i < 16; ++i) out.push_back(i);
  return out;
}

struct RawFile {
  std::vector<Bytes> pairs = {};
  std::vector<Bytes> entries = {};
  Bytes data = {};
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::optional<std::uint64_t> tensor_count = {};
  std::optional<std::uint64_t> pair_count = {};
  std::size_t alignment = 32;  // 0: no padding after the table
  bool big_endian = false;

  // Header, metadata and tensor table, without padding.
  [[nodiscard]] Bytes table() const {
    Bytes out =
        join({text(magic), number(version, 4, big_endian), number(tensor_count.value_or(entries.size()), 8, big_endian),
              number(pair_count.value_or(pairs.size()), 8, big_endian)});
    for (const Bytes& part : pairs) out.insert(out.end(), part.begin(), part.end());
    for (const Bytes& part : entries) out.insert(out.end(), part.begin(), part.end());
    return out;
  }
  [[nodiscard]] Bytes build() const {
    Bytes out = table();
    if (alignment != 0) out = padded(std::move(out), alignment);
    out.insert(out.end(), data.begin(), data.end());
    return out;
  }
};

}  // namespace lanewise::gguf::test
