#pragma once

// Keeps the daemon's policy of retention: removes what has expired at the daemon's start and then
// every hour. No request waits for it. An error of the store is logged, and the work is repeated a
// minute later.
//
// Daemons that share a store need no agreement: each removes what its own policy names, and what
// two want to remove goes once and is counted once (daemon/retention/retention.h).
//
// Any thread may call counts(); the rest is for one thread, which is the keeper's own after
// start().

#include <atomic>
#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>

#include "core/base/clock.h"
#include "daemon/http/internal_errors.h"
#include "daemon/http/log.h"
#include "daemon/retention/retention.h"
#include "daemon/traces/served_traces.h"
#include "store/open.h"
#include "store/store.h"

namespace hocket {

struct StoreKeeperParts {
  Store& store;
  const std::string store_path;  ///< as in prune_profiles()
  const RetentionPolicy policy;
  const Clock& clock;
  const WallClock now_unix_ns;
  const Log log;
  const InternalErrors errors;
  ServedTraces* traces = nullptr;  ///< null: this daemon serves none
};

class StoreKeeper {
 public:
  static constexpr std::int64_t kIntervalNs = 3600LL * 1'000'000'000;
  static constexpr std::int64_t kRetryNs = 60LL * 1'000'000'000;

  /// The parts must outlive this object.
  explicit StoreKeeper(StoreKeeperParts parts);

  /// Starts a thread that calls run_due() every minute, if there may be anything to remove at all;
  /// it ends with this object.
  void start();

  /// Removes what has expired, and traces that are served here and belong to no profile, if it is
  /// time. Ends early once `stop` is requested.
  void run_due(const std::stop_token& stop = {});

  /// Counts of the entries that this object has removed.
  struct Counts {
    std::uint64_t studies = 0, audit_entries = 0, profiles = 0;
  };
  Counts counts() const;

 private:
  void run(const std::stop_token& stop);
  Result<void> remove(const std::stop_token& stop);
  Result<void> sweep_traces();
  void report(const RetentionRemoval& removal);

  const StoreKeeperParts parts_;
  bool has_run_ = false;
  std::int64_t due_ns_ = 0;  // by parts_.clock, once has_run_
  std::atomic<std::uint64_t> studies_ = 0, audit_entries_ = 0, profiles_ = 0;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace hocket
