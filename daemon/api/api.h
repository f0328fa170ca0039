#pragma once

// The daemon's HTTP interface: finds the route of a request (daemon/api/routes.h), checks the role
// of its token, and calls the handler. Independent of the transport. Thread-safe as Service
// requires.

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "daemon/api/changes.h"
#include "daemon/api/computed_results.h"
#include "daemon/api/hidden_folders.h"
#include "daemon/api/meeting_board.h"
#include "daemon/api/refusals.h"
#include "daemon/api/routes.h"
#include "daemon/api/study_service.h"
#include "daemon/api/token_file.h"
#include "daemon/http/feed.h"
#include "daemon/http/internal_errors.h"
#include "daemon/http/line_limit.h"
#include "daemon/http/log.h"
#include "daemon/http/service.h"
#include "daemon/live/config_board.h"
#include "daemon/live/job_registry.h"
#include "daemon/live/live_tuning.h"
#include "daemon/traces/served_traces.h"
#include "store/open.h"
#include "store/store.h"

namespace hocket {

/// Parts that the interface uses; all must outlive it.
struct ApiParts {
  Store& store;
  Feed& feed;
  ConfigBoard& board;
  JobRegistry& jobs;
  LiveTuning& live;
  StudyService& studies;
  MeetingBoard& meetings;
  ComputedResults& computed;
  ServedTraces& traces;
  ChangePublisher& changes;
  const Clock& clock;
  const AccessTokens& tokens;
  WallClock now_unix_ns = system_unix_ns;
  std::string description = {};  ///< the text of docs/openapi.json
  /// Returns the body of /metrics.
  std::function<std::string()> metrics = [] { return std::string(); };
  Log log = {};
  /// Folders whose paths only administrators see.
  HiddenFolders hidden_folders = {};
  InternalErrors errors = InternalErrors();
  /// False for a store that is only shown: then nothing runs and nothing can be changed.
  bool is_daemon = true;
};

/// Upper limit of `?wait=`.
inline constexpr std::int64_t kMaxWaitSeconds = 60;

class Api final : public Service {
 public:
  explicit Api(ApiParts parts);

  std::optional<ServiceReply> answer_at_once(const ServiceRequest& request) override;
  RequestLabour labour_of(const ServiceRequest& request) const override;
  ServiceReply handle(const ServiceRequest& request, bool is_last) override;

 private:
  /// Returns the answer to a request for a key's configuration if it is in memory.
  std::optional<ServiceReply> known_config(const ServiceRequest& request,
                                           std::string_view key) const;
  ServiceReply refuse(const ServiceRequest& request, const FoundRoute& found,
                      const std::optional<ClientIdentity>& who);
  ServiceReply call(const RouteCall& call);
  /// Logs what failed, such as a write to a full disk, within the bounds of
  /// daemon/http/line_limit.h for each client.
  void note_failure(const RouteCall& call, const Error& error);
  /// Takes from an answer what only administrators see.
  void hide_folders(ServiceReply& reply) const;

  ApiParts parts_;
  TokenRefusals refusals_;
  std::mutex failures_mutex_;
  LineLimit failures_;  // guarded by failures_mutex_
};

}  // namespace hocket
