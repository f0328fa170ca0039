#pragma once

// The load under which daemons are killed: workers that share studies, an operator who pushes
// versions, and a job that reports. Each notes in a ledger what was acknowledged. One thread a
// client.

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/fault/daemon_process.h"
#include "tests/fault/ledger.h"

namespace hocket {

/// A client that continues where it stopped when the daemon is back. A request without a response
/// ends its part of a round.
class LedgerClient {
 public:
  /// If `store_may_go`, an answer that the store cannot be used is none; otherwise it is a
  /// complaint.
  LedgerClient(Ledger& ledger, std::uint64_t seed, bool store_may_go)
      : ledger_(ledger), random_(seed), store_may_go_(store_may_go) {}
  virtual ~LedgerClient() = default;

  /// Asks the daemon until it is gone, or until `stop`.
  void run(std::uint16_t port, const std::atomic<bool>* stop = nullptr);

 protected:
  virtual void begin(DaemonClient&) {}
  virtual void act(DaemonClient& daemon) = 0;

  /// Returns the response, if there was one with the status `expected` or `other`.
  std::optional<nlohmann::json> ask(DaemonClient& daemon, const std::string& method,
                                    const std::string& target, const nlohmann::json& body,
                                    int expected = 200, int other = 200);

  Ledger& ledger_;
  std::mt19937_64 random_;

 private:
  const bool store_may_go_;
  bool is_gone_ = false;
};

/// Returns three workers, an operator and a job.
std::vector<std::unique_ptr<LedgerClient>> ledger_clients(Ledger& ledger, std::uint64_t seed,
                                                          bool store_may_go);

}  // namespace hocket
