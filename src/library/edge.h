// The edge of the library: what every function of lanewise.h does with its structs, its errors and its exceptions.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace lanewise::edge {

/// The sizes that a struct with `struct_size` has had, one a version of the header that grew it, oldest first. Fields
/// are only ever appended, with 0 as the meaning of "not given".
template <class T>
inline constexpr std::array<std::uint32_t, 0> published_sizes = {};
template <>
inline constexpr std::array published_sizes<lw_error> = {std::uint32_t{504}};
template <>
inline constexpr std::array published_sizes<lw_format_info> = {std::uint32_t{24}};
template <>
inline constexpr std::array published_sizes<lw_tensor_info> = {std::uint32_t{88}};
template <>
inline constexpr std::array published_sizes<lw_device_options> = {std::uint32_t{40}, std::uint32_t{48},
                                                                  std::uint32_t{64}};
template <>
inline constexpr std::array published_sizes<lw_vulkan> = {std::uint32_t{56}};
template <>
inline constexpr std::array published_sizes<lw_device_info> = {std::uint32_t{24}};
template <>
inline constexpr std::array published_sizes<lw_matrix_info> = {std::uint32_t{32}};
template <>
inline constexpr std::array published_sizes<lw_activation_info> = {std::uint32_t{40}};

/// True where `given`, null or not, may be read and written up to its struct_size.
template <class T>
[[nodiscard]] bool has_known_size(const T* given) {
  static_assert(!published_sizes<T>.empty() && published_sizes<T>.back() == sizeof(T),
                "a struct of the interface has another size than the table says");
  if (given == nullptr) return false;
  for (const std::uint32_t size : published_sizes<T>) {
    if (given->struct_size == size) return true;
  }
  return false;
}

/// Fills the caller's struct as far as the caller's header knows it. `out` has a known size.
template <class T>
void fill(T* out, T value) {
  value.struct_size = out->struct_size;
  std::memcpy(out, &value, out->struct_size);
}

/// The caller's struct with `defaults` for what the caller's header doesn't know. `given` has a known size.
template <class T>
[[nodiscard]] T read(const T& given, T defaults) {
  std::memcpy(&defaults, &given, given.struct_size);
  defaults.struct_size = sizeof(T);
  return defaults;
}

/// Writes an error, cut where it must be but never inside a UTF-8 character, and returns its code. Allocates nothing.
lw_status report(lw_error* out, lw_status code, std::string_view message, std::uint64_t offset) noexcept;
/// Writes success.
lw_status succeed(lw_error* out) noexcept;

inline Error argument_error(std::string message) { return make_error(LW_ERROR_ARGUMENT, std::move(message)); }

/// Runs `body`, which returns an Outcome, and turns what comes of it into a status and an lw_error. No exception
/// passes.
template <class Body>
lw_status guarded(lw_error* error, Body&& body) noexcept {
  if (error != nullptr && !has_known_size(error)) return LW_ERROR_ARGUMENT;
  try {
    const Outcome outcome = std::forward<Body>(body)();
    if (outcome) return succeed(error);
    return report(error, outcome.error().code, outcome.error().message, outcome.error().offset);
  } catch (const std::bad_alloc&) {
    return report(error, LW_ERROR_MEMORY, "the system has no more memory for this call", Error::no_offset);
  } catch (const std::exception& exception) {
    return report(error, LW_ERROR_INTERNAL, exception.what(), Error::no_offset);
  } catch (...) {
    return report(error, LW_ERROR_INTERNAL, "an unknown exception", Error::no_offset);
  }
}

}  // namespace lanewise::edge
