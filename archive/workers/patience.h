#pragma once

// Calls of a store by somebody who can wait for it. One thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "archive/workers/waiting.h"
#include "core/base/clock.h"
#include "core/base/result.h"

namespace hocket {

/// Is told every minute why a call waits.
using SayWaiting = std::function<void(const std::string& why)>;

class Patience {
 public:
  /// All must outlive this. `goes_on` is asked before each further try. Without `limit_ns` it waits
  /// as long as it takes.
  Patience(const Clock& clock, InterruptibleWait wait, std::function<bool()> goes_on,
           SayWaiting say, std::optional<std::int64_t> limit_ns)
      : clock_(clock),
        wait_(std::move(wait)),
        goes_on_(std::move(goes_on)),
        say_(std::move(say)),
        limit_ns_(limit_ns) {}

  /// Returns what `call` returns, and calls it again while it says that the store cannot be reached
  /// or is locked. Only for calls that may be made twice.
  template <typename Call>
  auto operator()(const Call& call) const -> decltype(call()) {
    const std::int64_t begin_ns = clock_.now_ns();
    std::int64_t next_said_ns = kFirstSaidNs;
    for (;;) {
      auto result = call();
      if (result) return result;
      const ErrorCode code = result.error().code;
      const bool may_pass = code == ErrorCode::unavailable || code == ErrorCode::timed_out;
      const std::int64_t quiet_ns = clock_.now_ns() - begin_ns;
      const bool is_over = limit_ns_ && quiet_ns >= *limit_ns_;
      if (!may_pass || is_over || !goes_on_()) return result;
      if (say_ && quiet_ns >= next_said_ns) {
        say_(result.error().message);
        next_said_ns = quiet_ns + kSaidEveryNs;
      }
      wait_(next_wait_ns(quiet_ns));
    }
  }

 private:
  const Clock& clock_;
  InterruptibleWait wait_;
  std::function<bool()> goes_on_;
  SayWaiting say_;
  std::optional<std::int64_t> limit_ns_;
};

}  // namespace hocket
