#pragma once

// Keeps exceptions within the threads of the daemon. Each piece of work that a thread does for a
// client or a key runs inside contain(), so that an exception ends that piece only. It is logged
// and counted. Copies share their counts. Thread-safe.

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/log.h"

namespace hocket {

/// The work that threw; label `where` of hocket_internal_errors_total.
enum class ErrorOrigin {
  handler,     ///< answering a request
  ask,         ///< answering a request that computes for long (Service::computes)
  stream,      ///< opening, writing or ending a stream of events
  connection,  ///< reading requests and writing responses
  server,      ///< the I/O thread, outside of any connection
  key,         ///< tuning of one key, which is set aside
  tuning,      ///< live tuning, outside of any key
  tick,        ///< the periodic work of live tuning, outside of any key
  retention,   ///< removing what has expired
};
inline constexpr std::size_t kErrorOrigins = 9;

std::string_view to_string(ErrorOrigin where);

class InternalErrors {
 public:
  /// Logs to `log`.
  explicit InternalErrors(Log log = {});

  /// Calls `work`. If it throws, logs the exception with `fields`, counts it, and returns its text.
  template <class Work>
  std::optional<std::string> contain(ErrorOrigin where, std::initializer_list<LogField> fields,
                                     Work&& work) const noexcept {
    try {
      work();
      return std::nullopt;
    } catch (...) {
      return caught(where, fields);
    }
  }

  /// Does the same for the exception being handled. Call it in a catch block.
  std::string caught(ErrorOrigin where, std::initializer_list<LogField> fields) const noexcept;

  std::uint64_t count(ErrorOrigin where) const;

 private:
  struct Shared {
    Log log;
    std::array<std::atomic<std::uint64_t>, kErrorOrigins> counts = {};
  };
  std::shared_ptr<Shared> shared_;
};

}  // namespace hocket
