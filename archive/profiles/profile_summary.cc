#include "archive/profiles/profile_summary.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "archive/profiles/load_profile.h"
#include "core/base/statistics.h"
#include "store/trace_url.h"

namespace hocket {
namespace {

constexpr const char* kStructureTasks = "tasks";

void add_traces(ProfileSummary& summary) {
  for (const ProfileRank& rank : summary.row.ranks) {
    if (parse_trace_url(rank.trace_path)) {
      // Whoever asks the daemon that serves it learns whether it is there, and its size.
      ++summary.traces_there;
      continue;
    }
    std::error_code error;
    if (rank.trace_path.empty() || !std::filesystem::is_regular_file(rank.trace_path, error)) {
      continue;
    }
    const auto bytes = std::filesystem::file_size(rank.trace_path, error);
    if (error) continue;
    ++summary.traces_there;
    summary.trace_bytes += static_cast<std::int64_t>(bytes);
  }
}

void add_iterations(const std::vector<ProfileIteration>& iterations, ProfileSummary& summary) {
  if (iterations.empty()) return;
  const auto lowest = std::ranges::min_element(iterations, {}, &ProfileIteration::rank)->rank;
  std::vector<double> walls, shares;
  bool has_computation = false;
  for (const ProfileIteration& each : iterations) {
    if (each.rank != lowest || each.wall_ns <= 0) continue;
    has_computation = has_computation || each.compute_ns > 0;
    walls.push_back(static_cast<double>(each.wall_ns));
    shares.push_back(static_cast<double>(each.exposed_ns) / walls.back());
  }
  summary.iterations = std::ssize(walls);
  if (walls.empty()) return;
  summary.iteration_ns = median(std::move(walls));
  // Without any computation it is not known what that hides.
  if (has_computation) summary.exposed_share = median(std::move(shares));
}

template <class T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json rank_json(const ProfileRank& rank) {
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"trace", rank.trace_path.empty() ? nlohmann::json() : nlohmann::json(rank.trace_path)},
          {"records", rank.records},
          {"dropped", rank.dropped},
          {"quarantined", rank.quarantined},
          {"clock_fit", rank.clock_fit}};
}

}  // namespace

nlohmann::json to_json(const ProfileSummary& summary) {
  const ProfileRow& row = summary.row;
  auto ranks = nlohmann::json::array();
  for (const ProfileRank& rank : row.ranks) ranks.push_back(rank_json(rank));
  const auto& workload = summary.workload;
  const auto& topology = summary.topology;
  return {{"profile", row.name},
          {"id", row.id},
          {"source", row.source},
          {"created_at_ns", row.created_at_ns},
          {"kept", row.kept},
          {"workload", workload.empty() ? nlohmann::json() : nlohmann::json(workload)},
          {"topology", topology ? nlohmann::json(readable_name(*topology)) : nlohmann::json()},
          {"config", row.config.empty() ? nlohmann::json() : row.config},
          {"tasks", summary.tasks},
          {"iterations", summary.iterations},
          {"iteration_ns", or_null(summary.iteration_ns)},
          {"exposed_share", or_null(summary.exposed_share)},
          {"trace_bytes", summary.trace_bytes},
          {"overhead", row.detail.value("overhead", nlohmann::json())},
          {"quality", row.detail.value("quality", nlohmann::json())},
          {"idle", row.detail.value("idle", nlohmann::json())},
          {"notes", notes_of(row)},
          {"ranks", std::move(ranks)}};
}

Result<ProfileSummary> summarize_profile(Store& store, const ProfileRow& row) {
  ProfileSummary summary{.row = row};
  const auto tasks = row.structure.find(kStructureTasks);
  if (tasks != row.structure.end() && tasks->is_array()) {
    summary.tasks = static_cast<std::int64_t>(tasks->size());
  }
  add_traces(summary);
  const auto iterations = store.profile_iterations(row.id);
  HOCKET_TRY(iterations);
  add_iterations(*iterations, summary);
  UnreadRows unread;
  if (row.topology_id) {
    const auto topologies = store.topologies(&unread);
    HOCKET_TRY(topologies);
    const auto found = std::ranges::find(*topologies, *row.topology_id, &TopologyRow::id);
    if (found != topologies->end()) {
      if (auto topology = topology_from_json(found->document)) summary.topology = *topology;
    }
  }
  if (row.workload_id) {
    const auto workloads = store.workloads("", &unread);
    HOCKET_TRY(workloads);
    const auto found = std::ranges::find(*workloads, *row.workload_id, &WorkloadRow::id);
    if (found != workloads->end()) summary.workload = found->name;
  }
  return summary;
}

Result<std::vector<ProfileSummary>> summarize_profiles(Store& store, UnreadRows* unread) {
  const auto rows = store.profiles(unread);
  HOCKET_TRY(rows);
  std::vector<ProfileSummary> summaries;
  for (const ProfileRow& row : *rows) {
    auto summary = summarize_profile(store, row);
    if (!summary && unread != nullptr && summary.error().code != ErrorCode::timed_out) {
      unread->push_back(summary.error().in("profile " + row.name).message);
      continue;
    }
    HOCKET_TRY(summary);
    summaries.push_back(std::move(*summary));
  }
  return summaries;
}

Result<ProfileFigures> profile_figures(Store& store, const ProfileRow& row,
                                       std::optional<std::int64_t> rank) {
  if (rank && std::ranges::find(row.ranks, *rank, &ProfileRank::rank) == row.ranks.end()) {
    return failure(ErrorCode::not_found, "profile " + row.name + " has no rank " +
                                             std::to_string(*rank) + "; it has " +
                                             std::to_string(row.ranks.size()) + " ranks");
  }
  auto metrics = store.profile_metrics(row.id);
  HOCKET_TRY(metrics);
  auto iterations = store.profile_iterations(row.id);
  HOCKET_TRY(iterations);
  if (rank) {
    std::erase_if(*metrics, [&](const auto& each) { return each.rank && each.rank != rank; });
    std::erase_if(*iterations, [&](const auto& each) { return each.rank != *rank; });
  }
  return ProfileFigures{row.name, notes_of(row), std::move(*metrics), std::move(*iterations)};
}

nlohmann::json to_json(const ProfileFigures& figures) {
  auto metrics = nlohmann::json::array(), iterations = metrics;
  for (const ProfileMetric& metric : figures.metrics) {
    metrics.push_back({{"name", metric.name}, {"value", metric.value}});
    if (metric.rank) metrics.back()["rank"] = *metric.rank;
  }
  for (const ProfileIteration& each : figures.iterations) {
    iterations.push_back({{"rank", each.rank},
                          {"step", each.step},
                          {"begin_ns", each.begin_ns},
                          {"wall_ns", each.wall_ns},
                          {"compute_ns", each.compute_ns},
                          {"communication_ns", each.communication_ns},
                          {"exposed_ns", each.exposed_ns}});
  }
  return {{"profile", figures.profile},
          {"notes", figures.notes},
          {"metrics", std::move(metrics)},
          {"iterations", std::move(iterations)}};
}

}  // namespace hocket
