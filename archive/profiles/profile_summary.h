#pragma once

// Summarises profiles from the catalogue, without their traces. Not thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/topology.h"
#include "store/store.h"

namespace hocket {

struct ProfileSummary {
  ProfileRow row;
  std::optional<Topology> topology = {};
  std::string workload = {};     ///< the workload's name; empty if unknown
  std::int64_t tasks = 0;        ///< number of tasks in its structure; 0 without one
  std::int64_t trace_bytes = 0;  ///< bytes of the trace files that are on this host
  /// Number of existing trace files, and of those that daemons serve, which are not looked for.
  std::int64_t traces_there = 0;
  /// Number of iterations of the lowest rank.
  std::int64_t iterations = 0;
  /// Medians over the lowest rank's iterations.
  std::optional<double> iteration_ns = {}, exposed_share = {};
};

/// Returns `{"profile":…,"id":…,"source":…,"created_at_ns":…,"kept":…,"workload":…,"topology":…,
/// "config":{…},"tasks":…,"iterations":…,"iteration_ns":…,"exposed_share":…,"trace_bytes":…,
/// "overhead":{…},"notes":[…],"ranks":[{…},…]}`; null where a value is unknown.
nlohmann::json to_json(const ProfileSummary& summary);

Result<ProfileSummary> summarize_profile(Store& store, const ProfileRow& row);

/// Summarises all profiles of the store, the newest last.
Result<std::vector<ProfileSummary>> summarize_profiles(Store& store, UnreadRows* unread = nullptr);

/// A profile's metrics and iterations, as the store has them.
struct ProfileFigures {
  std::string profile;
  std::vector<std::string> notes;  ///< figures that are missing or withheld, with the reason
  std::vector<ProfileMetric> metrics;
  std::vector<ProfileIteration> iterations;
};

/// Returns a profile's figures; with `rank`, only that rank's and the job's. Returns not_found if
/// `rank` is not in the profile.
Result<ProfileFigures> profile_figures(Store& store, const ProfileRow& row,
                                       std::optional<std::int64_t> rank = {});

/// Returns
/// `{"profile":…,"notes":[…],"metrics":[{"name":…,"rank":…,"value":…},…],"iterations":[…]}`; a
/// figure of the job has no rank.
nlohmann::json to_json(const ProfileFigures& figures);

}  // namespace hocket
