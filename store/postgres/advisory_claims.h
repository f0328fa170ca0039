#pragma once

// Claims of keys as advisory locks of a connection that is theirs alone. The server frees them when
// the connection ends. Thread-safe.

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "core/base/result.h"
#include "store/key_claim.h"
#include "store/postgres/session.h"

namespace hocket::postgres {

class AdvisoryClaims {
 public:
  explicit AdvisoryClaims(Target target) : target_(std::move(target)) {}

  /// Claims `key`; returns null if it is claimed already. Connects if that is necessary.
  static Result<std::unique_ptr<KeyClaim>> claim(const std::shared_ptr<AdvisoryClaims>& claims,
                                                 const std::string& key);

 private:
  class Claim;

  Result<bool> try_lock(const std::string& key);
  bool is_held(std::int64_t connection);
  void release(const std::string& key, std::int64_t connection);
  /// Forgets the claims of a connection that is lost; returns whether there is one.
  bool has_session();

  const Target target_;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::unique_ptr<Session> session_;
  std::int64_t connections_ = 0;  // number of the current one
  std::set<std::string> held_;    // by the current connection
};

}  // namespace hocket::postgres
