#pragma once

// Calls of a store by somebody who can wait for it. One thread.

#include <cstdint>
#include <utility>

#include "archive/workers/waiting.h"
#include "core/base/clock.h"
#include "core/base/result.h"

namespace hocket {

class Patience {
 public:
  /// All must outlive this. `goes_on` is asked before each further try.
  Patience(const Clock& clock, InterruptibleWait wait, std::function<bool()> goes_on)
      : clock_(clock), wait_(std::move(wait)), goes_on_(std::move(goes_on)) {}

  /// Returns what `call` returns, and calls it again while it says that the store cannot be reached
  /// or is locked, for at most kStorePatienceNs. Only for calls that may be made twice.
  template <typename Call>
  auto operator()(const Call& call) const -> decltype(call()) {
    const std::int64_t begin_ns = clock_.now_ns();
    for (;;) {
      auto result = call();
      if (result) return result;
      const ErrorCode code = result.error().code;
      const bool may_pass = code == ErrorCode::unavailable || code == ErrorCode::timed_out;
      const std::int64_t quiet_ns = clock_.now_ns() - begin_ns;
      if (!may_pass || quiet_ns >= kStorePatienceNs || !goes_on_()) return result;
      wait_(next_wait_ns(quiet_ns));
    }
  }

 private:
  const Clock& clock_;
  InterruptibleWait wait_;
  std::function<bool()> goes_on_;
};

}  // namespace hocket
