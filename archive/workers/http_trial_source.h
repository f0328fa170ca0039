#pragma once

// Trials of the studies in the store of a daemon, for workers on hosts that do not reach the store.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "archive/workers/trial_source.h"
#include "client/link/daemon_access.h"
#include "client/link/http_client.h"

namespace hocket {

class HttpTrialSource final : public TrialSource {
 public:
  /// Connects at the first call.
  explicit HttpTrialSource(const DaemonAccess& daemon);

  Result<StudyRow> find(std::string_view name_or_id) override;
  Result<ClaimAnswer> claim(std::int64_t study_id, const WorkerClaim& claim) override;
  Result<void> renew(std::int64_t study_id, const NewClaim& claim) override;
  Result<void> leave(std::int64_t study_id, std::string_view worker) override;
  Result<void> finish(std::int64_t study_id, const Trial& trial) override;

 private:
  /// Sends a request and reads the answer's object.
  static Result<nlohmann::json> ask(HttpClient& client, const HttpRequest& request,
                                    std::int64_t timeout_ns);
  Result<nlohmann::json> post(std::int64_t study_id, const char* action,
                              const nlohmann::json& body);

  HttpClient client_;
  HttpClient renewing_client_;  ///< used only by the thread that renews the lease
};

}  // namespace hocket
