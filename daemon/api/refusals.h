#pragma once

// Logs and audits requests that were refused for their token. What clients cause here is bounded:
// of one peer, token and reason kRefusalBurst refusals are noted and then one in ten minutes, and
// of all together kAllRefusalsBurst and then one in ten minutes, so that nobody can fill the disk.
// The next one that is noted tells how many were not. Thread-safe.

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "daemon/http/log.h"
#include "daemon/http/rate_limit.h"
#include "store/store.h"

namespace hocket {

inline constexpr int kRefusalBurst = 3;
inline constexpr int kAllRefusalsBurst = 100;
inline constexpr double kRefusalsPerSecond = 1.0 / 600;

struct TokenRefusal {
  std::string_view token_name = {};  ///< empty if there is no token or nobody knows it
  std::string_view reason = {};
  std::string_view peer = {}, method = {}, target = {};  ///< the request's, unmodified
  std::string_view key = {};  ///< key in the path; empty if the path has none
};

class TokenRefusals {
 public:
  /// All must outlive this object.
  TokenRefusals(Store& store, const Log& log, const Clock& clock);

  /// May wait for the disk.
  void note(const TokenRefusal& refusal);

 private:
  /// Returns whether the refusal is to be noted, and how many were not since the last one.
  bool is_allowed(const TokenRefusal& refusal, std::int64_t& others);

  Store& store_;
  const Log& log_;
  const Clock& clock_;
  std::mutex mutex_;
  // Guarded by mutex_:
  RateLimit<std::string> each_;
  RateLimit<int> all_;
  std::int64_t others_ = 0;
};

}  // namespace hocket
