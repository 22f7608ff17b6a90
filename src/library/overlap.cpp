#include "library/overlap.h"

#include <string>
#include <utility>

#include "base/checked.h"

namespace lanewise::edge {

Result<Dtype> check_dtype(lw_dtype dtype) {
  if (dtype != LW_DTYPE_F32 && dtype != LW_DTYPE_F16 && dtype != LW_DTYPE_BF16) {
    return make_error(LW_ERROR_ARGUMENT,
                      "no lw_dtype has the number " + std::to_string(static_cast<std::uint32_t>(dtype)));
  }
  return static_cast<Dtype>(dtype);
}

bool can_be_object(const void* data, std::uint64_t bytes) {
  return bytes <= PTRDIFF_MAX && bytes <= UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(data);
}

Result<ByteVectors> bytes_of(const Strided& vectors) {
  const std::string name(vectors.name);
  if (vectors.data == nullptr) return make_error(LW_ERROR_ARGUMENT, name + " is a null pointer");
  const auto start = reinterpret_cast<std::uintptr_t>(vectors.data);
  const std::uint64_t unit = dtype_bytes(vectors.dtype);
  if (start % unit != 0) return make_error(LW_ERROR_ARGUMENT, name + " is not aligned to its elements");
  if (vectors.stride < vectors.length) {
    return make_error(LW_ERROR_ARGUMENT, "the stride of " + name + " is " + std::to_string(vectors.stride) +
                                             ", less than its " + std::to_string(vectors.length) + " elements");
  }
  auto extent = checked_mul(vectors.count - 1, vectors.stride);
  if (extent) extent = checked_add(*extent, vectors.length);
  if (extent) extent = checked_mul(*extent, unit);
  if (!extent || !can_be_object(vectors.data, *extent)) {
    return make_error(LW_ERROR_ARGUMENT, name + " passes the end of memory with " + std::to_string(vectors.count) +
                                             " vectors at a stride of " + std::to_string(vectors.stride));
  }
  return ByteVectors{start, vectors.length * unit, vectors.count == 1 ? vectors.length * unit : vectors.stride * unit,
                     vectors.count};
}

ByteVectors whole(const void* data, std::uint64_t bytes) {
  return {reinterpret_cast<std::uintptr_t>(data), bytes, bytes, 1};
}

bool overlap(const ByteVectors& a, const ByteVectors& b) {
  if (a.is_empty() || b.is_empty()) return false;
  if (a.start > b.start) return overlap(b, a);
  if (b.start - a.start >= a.extent()) return false;
  if (a.stride == b.stride && a.stride != 0) {
    // b's first vector lies `into` bytes after the start of a's vector `steps`, and before the next: it meets one of
    // the two or, all shifted alike, no vector does.
    const std::uint64_t steps = (b.start - a.start) / a.stride;
    const std::uint64_t into = (b.start - a.start) % a.stride;
    return into < a.length || (steps + 1 < a.count && into + b.length > a.stride);
  }
  std::uint64_t i = 0;
  std::uint64_t j = 0;
  while (i < a.count && j < b.count) {
    const std::uintptr_t first = a.start + i * a.stride;
    const std::uintptr_t second = b.start + j * b.stride;
    if (first <= second ? second - first < a.length : first - second < b.length) return true;
    // The one that ends first can't meet what follows in the other.
    if (first < second) {
      ++i;
    } else {
      ++j;
    }
  }
  return false;
}

}  // namespace lanewise::edge
