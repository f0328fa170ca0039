#pragma once

// The errors of the C interface's functions: none crosses the interface, and the last one of a
// thread stays for hocket_error(). Any thread.

#include <exception>
#include <string>
#include <utility>

#include "core/base/plain_text.h"
#include "core/base/result.h"

namespace hocket {

/// Returns this thread's last error.
inline std::string& last_c_error() {
  static thread_local std::string error;
  return error;
}

inline Error misused(const std::string& function, const std::string& why) {
  return {ErrorCode::invalid_argument, function + ": " + why};
}

/// Returns the value of `call()`, which gives a Result, or `otherwise` and keeps the error for
/// hocket_error(), as a plain line: it may repeat what a daemon has said.
template <class T, class Call>
T guarded(T otherwise, const Call& call) noexcept {
  try {
    Result<T> result = call();
    if (result) return std::move(*result);
    last_c_error() = plain_line(result.error().message);
  } catch (const std::exception& e) {
    last_c_error() = e.what();
  }
  return otherwise;
}

}  // namespace hocket
