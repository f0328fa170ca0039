#pragma once

// Logs and audits requests that were refused for their token, within the bounds of
// daemon/http/line_limit.h for each peer, token and reason. Thread-safe.

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "daemon/http/line_limit.h"
#include "daemon/http/log.h"
#include "store/store.h"

namespace hocket {

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
  /// Returns how many refusals were not noted since the last one, or nothing if this is not to be.
  std::optional<std::int64_t> others_before(const TokenRefusal& refusal);

  Store& store_;
  const Log& log_;
  const Clock& clock_;
  std::mutex mutex_;
  LineLimit limit_;  // guarded by mutex_
};

}  // namespace hocket
