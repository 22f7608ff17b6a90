// Status, Error and Result: how every function inside Lanewise reports failure. The codes are those of the C ABI, so
// that nothing is translated at its edge. No exception crosses a module; nothing here prints or aborts.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "lanewise/lanewise.h"

namespace lanewise {

using Status = lw_status;

/// What went wrong, for a person (`message`: one sentence, no newline) and for a program (`code`). `offset` is the byte
/// of the file at which the fault lies, `no_offset` where there is none.
struct Error {
  static constexpr std::uint64_t no_offset = LW_NO_OFFSET;
  Status code = LW_ERROR_INTERNAL;
  std::string message;
  std::uint64_t offset = no_offset;
};

/// A value or the Error that stands in its place.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// Only when ok().
  [[nodiscard]] T& value() & { return *std::get_if<0>(&state_); }
  [[nodiscard]] const T& value() const& { return *std::get_if<0>(&state_); }
  [[nodiscard]] T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  /// Only when !ok().
  [[nodiscard]] const Error& error() const& { return *std::get_if<1>(&state_); }
  [[nodiscard]] Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value.
struct Done {};
using Outcome = Result<Done>;

inline Error make_error(Status code, std::string message, std::uint64_t offset = Error::no_offset) {
  return Error{code, std::move(message), offset};
}

}  // namespace lanewise

/// Returns from the calling function with the error of `expression`, if it has one.
#define LW_TRY(expression)                                                                 \
  do {                                                                                     \
    if (auto lw_outcome = (expression); !lw_outcome) return std::move(lw_outcome).error(); \
  } while (false)
/// Declares `name` with the value of `expression`, or returns its error.
#define LW_ASSIGN(name, expression)                            \
  auto name##_result = (expression);                           \
  if (!name##_result) return std::move(name##_result).error(); \
  auto& name = *name##_result
