#pragma once

// Errors as values: what can happen to a correct program (bad input, a peer that died, a full
// disk). What must not happen is a failed check instead (core/base/check.h). docs/ERRORS.md has the
// rule.

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace hocket {

enum class ErrorCode {
  invalid_argument,  ///< the caller's input is wrong and will be wrong next time
  not_found,         ///< what was asked for does not exist
  unavailable,       ///< a file, process or peer cannot be reached or used now
  timed_out,         ///< it did not happen within its limit
  interrupted,       ///< the user asked for an end
};

/// An error that a user can act on. `message` says what went wrong, where, the allowed range where
/// there is one, and what to do; it has no trailing period and no line break.
struct Error {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string message;

  /// The same error seen from further out: "`context`: message".
  Error in(std::string_view context) const {
    return Error{code, std::string(context) + ": " + message};
  }

  bool operator==(const Error&) const = default;
};

/// A value, or the reason there is none.
template <class T>
using Result = tl::expected<T, Error>;

/// `return failure(ErrorCode::invalid_argument, "…")` from a function that returns a Result.
inline tl::unexpected<Error> failure(ErrorCode code, std::string message) {
  return tl::make_unexpected(Error{code, std::move(message)});
}

inline tl::unexpected<Error> failure(Error error) {
  return tl::make_unexpected(std::move(error));
}

/// `return invalid("…")`: failure(ErrorCode::invalid_argument, "…").
inline tl::unexpected<Error> invalid(std::string message) {
  return failure(ErrorCode::invalid_argument, std::move(message));
}

}  // namespace hocket
