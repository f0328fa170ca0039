#pragma once

// Parts that live tuning works with. Plain references; each part documents its threads.

#include <cstdint>
#include <string>

#include "core/base/clock.h"
#include "daemon/http/feed.h"
#include "daemon/http/internal_errors.h"
#include "daemon/http/log.h"
#include "daemon/live/config_board.h"
#include "daemon/live/job_registry.h"
#include "daemon/live/memory_limits.h"
#include "daemon/live/search_runner.h"
#include "store/open.h"
#include "store/store.h"
#include "tuner/study/study_definition.h"

namespace hocket {

/// Owner of the studies of live tuning, and the actor named in the audit.
inline constexpr const char* kDaemonActor = "hocket serve";

/// All parts must outlive the holder.
struct LiveParts {
  Store& store;
  Feed& feed;
  ConfigBoard& board;
  JobRegistry& jobs;
  SearchRunner& searches;
  const Clock& clock;
  WallClock now_unix_ns = system_unix_ns;
  Log log = {};
  InternalErrors errors = InternalErrors();
  MemoryLimits limits = {};
  SearchMethod method = SearchMethod::model;  ///< method of new searches
};

struct LiveCounts {
  std::uint64_t offered = 0, kept = 0, rolled_back = 0, rejected = 0;  ///< numbers of candidates
  std::uint64_t drifts = 0;
  std::uint64_t releases = 0, withdrawals = 0;
};

/// Topics of messages to a single job: of one registration (RunningJob::number), so that what was
/// meant for an earlier one does not reach a job that took its id.
inline std::string job_config_topic(std::uint64_t number) {
  return "job/" + std::to_string(number) + "/config";
}
inline std::string job_candidate_topic(std::uint64_t number) {
  return "job/" + std::to_string(number) + "/candidate";
}
inline std::string job_profile_topic(std::uint64_t number) {
  return "job/" + std::to_string(number) + "/profile";
}

}  // namespace hocket
