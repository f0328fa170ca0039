#pragma once

// What the catalogue says of profiles, without their traces. Not thread-safe.

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
  std::string workload = {};      ///< its name; empty when unknown
  std::int64_t tasks = 0;         ///< of its structure; 0 when it has none
  std::int64_t trace_bytes = 0;   ///< of the trace files that are there
  std::int64_t traces_there = 0;  ///< how many of them
  /// Of the lowest rank.
  std::int64_t iterations = 0;
  std::optional<double> iteration_ns = {}, exposed_share = {};  ///< medians
};

/// `{"profile":…,"id":…,"source":…,"created_at_ns":…,"kept":…,"workload":…,"topology":…,
/// "config":{…},"tasks":…,"iterations":…,"iteration_ns":…,"exposed_share":…,"trace_bytes":…,
/// "overhead":{…},"notes":[…],"ranks":[{…},…]}`; null where something is unknown.
nlohmann::json to_json(const ProfileSummary& summary);

Result<ProfileSummary> summarize_profile(Store& store, const ProfileRow& row);

/// All of the store, the newest last.
Result<std::vector<ProfileSummary>> summarize_profiles(Store& store);

/// Its figures and its iterations, as the store has them.
struct ProfileFigures {
  std::string profile;
  std::vector<ProfileMetric> metrics;
  std::vector<ProfileIteration> iterations;
};

/// not_found when `rank`, if given, is not in the profile; only its figures and the job's then.
Result<ProfileFigures> profile_figures(Store& store, const ProfileRow& row,
                                       std::optional<std::int64_t> rank = {});

/// `{"profile":…,"metrics":[{"name":…,"rank":…,"value":…},…],"iterations":[…]}`; a figure of the
/// job has no rank.
nlohmann::json to_json(const ProfileFigures& figures);

}  // namespace hocket
