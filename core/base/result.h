#pragma once

// Errors as values, for conditions that a correct program meets (bad input, a peer that died, a
// full disk). A broken invariant is a failed check instead (core/base/check.h). The rule is in
// docs/ERRORS.md.

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace hocket {

enum class ErrorCode {
  /// The caller's input is wrong and will be wrong next time.
  invalid_argument,
  /// The requested object does not exist.
  not_found,
  /// A file, process or peer cannot be reached or used now.
  unavailable,
  /// The operation did not complete within its time limit.
  timed_out,
  /// The user asked to stop.
  interrupted,
};

/// An error that a user can act on. `message` states the problem, its location, the allowed range
/// where there is one, and the remedy; it has no trailing period and no line break.
struct Error {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string message;

  /// Returns the same error with context in front: "`context`: message".
  Error in(std::string_view context) const {
    return Error{code, std::string(context) + ": " + message};
  }

  bool operator==(const Error&) const = default;
};

/// A value, or the error that prevented it.
template <class T>
using Result = tl::expected<T, Error>;

/// Returns an error from a function that returns a Result: `return
/// failure(ErrorCode::invalid_argument, "…")`.
inline tl::unexpected<Error> failure(ErrorCode code, std::string message) {
  return tl::make_unexpected(Error{code, std::move(message)});
}

inline tl::unexpected<Error> failure(Error error) {
  return tl::make_unexpected(std::move(error));
}

/// Same as failure(ErrorCode::invalid_argument, "…"): `return invalid("…")`.
inline tl::unexpected<Error> invalid(std::string message) {
  return failure(ErrorCode::invalid_argument, std::move(message));
}

}  // namespace hocket

/// Returns from the function with the error of a Result, if it has one: `HOCKET_TRY(result);` or
/// `HOCKET_TRY(call());`. Afterwards `result` has a value. The function returns a Result.
#define HOCKET_TRY(...)                                     \
  do {                                                      \
    if (auto&& hocket_tried = (__VA_ARGS__); !hocket_tried) \
      return ::hocket::failure(hocket_tried.error());       \
  } while (false)
