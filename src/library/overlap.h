// Memory of the caller's as vectors at a stride: checked for what can't be, and for vectors that share bytes.
#pragma once

#include <cstdint>
#include <string_view>

#include "arithmetic/activation.h"
#include "base/status.h"

namespace lanewise::edge {

Result<Dtype> check_dtype(lw_dtype dtype);

/// False where `bytes` at `data` can't be one object: no object passes PTRDIFF_MAX or the end of the address space.
[[nodiscard]] bool can_be_object(const void* data, std::uint64_t bytes);

/// `count` vectors of `length` elements, vector i at element i * stride. Neither count nor length is 0.
struct Strided {
  const void* data;
  std::uint64_t length;
  std::uint64_t stride;
  std::uint64_t count;
  Dtype dtype;
  std::string_view name;  ///< in error messages
};

/// The same in bytes, known to end inside the address space. Empty where count or length is 0.
struct ByteVectors {
  std::uintptr_t start = 0;
  std::uint64_t length = 0;
  std::uint64_t stride = 0;
  std::uint64_t count = 0;

  [[nodiscard]] bool is_empty() const { return length == 0 || count == 0; }
  [[nodiscard]] std::uint64_t extent() const { return is_empty() ? 0 : (count - 1) * stride + length; }
};

/// Errors: a null pointer, one not aligned to its elements, a stride below the length, an end past the address space.
Result<ByteVectors> bytes_of(const Strided& vectors);
/// One piece of memory, as checked before.
ByteVectors whole(const void* data, std::uint64_t bytes);

/// Whether any vector of one shares a byte with any of the other: exact, so that outputs woven into one array pass. In
/// constant time, but for vectors of different strides in overlapping extents: then in the sum of the counts.
[[nodiscard]] bool overlap(const ByteVectors& a, const ByteVectors& b);

}  // namespace lanewise::edge
