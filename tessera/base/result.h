// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <variant>

#include "tessera/base/error.h"

namespace tessera {

/// Ends the program: the value of a Result was taken without asking whether there is one, which is
/// a bug in the program. Writes the error that the Result holds to standard error first.
[[noreturn]] void missing_value(const Error& error);
/// The same for the error of a Result that has a value.
[[noreturn]] void missing_error();

/// An answer of type T, or the Error that says why there is none. Taking the value of a Result that
/// has none ends the program, in every build.
/// Example:
///     Result<Shape> shape = Shape::make({53, 63});
///     if (!shape) return shape.error();
///     use(*shape);
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const T& value() const& {
    require_value();
    return *std::get_if<0>(&state_);
  }
  T& value() & {
    require_value();
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    require_value();
    return std::move(*std::get_if<0>(&state_));
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  const Error& error() const {
    if (ok()) missing_error();
    return *std::get_if<1>(&state_);
  }

 private:
  void require_value() const {
    if (!ok()) missing_value(*std::get_if<1>(&state_));
  }

  std::variant<T, Error> state_;
};

/// The result of a check: no value, or an Error.
struct Ok {};
using Status = Result<Ok>;
inline Status ok_status() { return Ok{}; }

// These two are macros because only a macro can return from the function that uses it.
#define TESSERA_CONCAT_INNER(a, b) a##b
#define TESSERA_CONCAT(a, b) TESSERA_CONCAT_INNER(a, b)

/// TESSERA_TRY(const Shape shape, Shape::make(extents)); declares `shape`, or returns the error.
#define TESSERA_TRY(declaration, expression)             \
  auto TESSERA_CONCAT(result_, __LINE__) = (expression); \
  if (!TESSERA_CONCAT(result_, __LINE__).ok()) {         \
    return TESSERA_CONCAT(result_, __LINE__).error();    \
  }                                                      \
  declaration = std::move(TESSERA_CONCAT(result_, __LINE__)).value()

/// TESSERA_CHECK_OK(check(fold)); returns the error of a Status, if it has one.
#define TESSERA_CHECK_OK(expression)                                     \
  do {                                                                   \
    if (auto status = (expression); !status.ok()) return status.error(); \
  } while (false)

}  // namespace tessera
