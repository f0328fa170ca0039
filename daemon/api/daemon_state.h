#pragma once

// The state of one daemon process: its parts, put together over a store, without a transport. A new
// object over the same store is a restarted daemon. Each part documents its threads.

#include <functional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "daemon/api/api.h"
#include "daemon/api/meeting_board.h"
#include "daemon/api/study_service.h"
#include "daemon/api/token_file.h"
#include "daemon/http/feed.h"
#include "daemon/http/internal_errors.h"
#include "daemon/http/log.h"
#include "daemon/live/config_board.h"
#include "daemon/live/job_registry.h"
#include "daemon/live/live_tuning.h"
#include "daemon/live/memory_limits.h"
#include "daemon/traces/served_traces.h"
#include "store/open.h"
#include "store/store.h"
#include "tuner/study/study_definition.h"

namespace hocket {

struct DaemonStateOptions {
  AccessTokens tokens = {};
  std::string description = {};  ///< the text of docs/openapi.json
  /// Returns the body of /metrics.
  std::function<std::string()> metrics = [] { return std::string(); };
  Log log = {};
  WallClock now_unix_ns = system_unix_ns;
  MemoryLimits limits = {};
  SearchMethod method = SearchMethod::model;  ///< method of new searches by live tuning
  /// The store of live tuning if it is another one, for tests.
  Store* tuning_store = nullptr;
  /// False for a store that is only shown.
  bool is_daemon = true;
  /// Paths that only administrators see (daemon/api/hidden_folders.h).
  std::vector<std::string> hidden_folders = {};
  ServedTracesOptions traces = {};
  /// Runs the searches of live tuning; null: they run on a thread of their own.
  SearchRunner* searches = nullptr;
};

struct DaemonState {
  /// Requires that `store` and `clock` outlive this object.
  DaemonState(Store& store, const Clock& clock, DaemonStateOptions options = {});

  const bool is_daemon;
  AccessTokens tokens;  ///< replaced before the first request, if at all
  const InternalErrors errors;
  Feed feed;
  ConfigBoard board;
  JobRegistry jobs;
  SearchAtOnce at_once;
  LiveTuning live;
  StudyService studies;
  MeetingBoard meetings;
  ServedTraces traces;
  ComputedResults computed;
  ChangePublisher changes;
  Api api;
};

}  // namespace hocket
