#pragma once

// Sends trace files to daemons and fetches them, over HTTP in pieces. A transfer ends with an error
// when the daemon is silent for 10 seconds, or after 10 minutes. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "archive/profiles/transfer/trace_transfer.h"
#include "client/link/environment.h"

namespace hocket {

/// Bytes of a trace in one request or answer, at most.
inline constexpr std::size_t kTracePieceBytes = 512 << 10;

/// Size above which a trace is neither sent nor fetched.
inline constexpr std::int64_t kMostServedTraceBytes = 4LL << 30;

class HttpTraceTransfer final : public TraceSource, public TraceTarget {
 public:
  /// The environment has the credentials for every daemon, and the address of the one that takes
  /// traces: HOCKET_DAEMON (client/link/daemon_access.h).
  explicit HttpTraceTransfer(Environment environment = process_environment);

  Result<LocalTrace> fetch(const TraceUrl& url) override;
  Result<std::optional<TraceSet>> make_set() override;
  Result<void> send(const std::string& path, const TraceUrl& url) override;

 private:
  const Environment environment_;
};

/// Returns where the traces of a store's profiles are sent: to the daemon, if the store is on a
/// server and HOCKET_TRACES does not name a folder that all hosts see. Otherwise null: they stay
/// files.
std::unique_ptr<TraceTarget> trace_target(const std::string& store_path,
                                          const Environment& environment = process_environment);

}  // namespace hocket
