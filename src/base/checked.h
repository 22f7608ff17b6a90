// Unsigned arithmetic that says when it would wrap. Every size read from a file goes through it.
#pragma once

#include <cstdint>
#include <optional>

namespace lanewise {

[[nodiscard]] constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  if (b > UINT64_MAX - a) return std::nullopt;
  return a + b;
}

[[nodiscard]] constexpr std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) {
  if (a != 0 && b > UINT64_MAX / a) return std::nullopt;
  return a * b;
}

/// The next multiple of `alignment` (a power of two) at or after `a`.
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_align(std::uint64_t a, std::uint64_t alignment) {
  const auto raised = checked_add(a, alignment - 1);
  if (!raised) return std::nullopt;
  return *raised & ~(alignment - 1);
}

[[nodiscard]] constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace lanewise
