#include "store/rules/profile_rules.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "store/rules/row_rules.h"
#include "store/trace_url.h"

namespace hocket::rules {
namespace {

tl::unexpected<Error> refused(const std::string& what) {
  return failure(ErrorCode::invalid_argument, what);
}

std::string rank_name(std::int64_t rank) {
  return "rank " + std::to_string(rank);
}

Result<void> check(const ProfileRank& rank) {
  const std::string name = rank_name(rank.rank);
  if (rank.rank < 0) return refused(name + " of a profile: ranks are counted from 0");
  if (!rank.trace_path.empty() && !rank.trace_path.starts_with('/') &&
      !parse_trace_url(rank.trace_path)) {
    return refused("the trace of " + name + " has the path " + in_quotes(rank.trace_path) +
                   ": expected an absolute one, the URL of a trace that a daemon serves, or none");
  }
  if (rank.records < 0 || rank.dropped < 0 || rank.quarantined < 0) {
    return refused(name + " has a negative number of records");
  }
  if (auto ok = check_text(rank.host, "the host of " + name); !ok) return ok;
  HOCKET_TRY(object_text(rank.clock_fit, "the clock's fit of " + name));
  return {};
}

Result<std::set<std::int64_t>> checked_ranks(const NewProfile& profile) {
  std::set<std::int64_t> ranks;
  for (const ProfileRank& rank : profile.ranks) {
    HOCKET_TRY(check(rank));
    if (!ranks.insert(rank.rank).second) return refused(rank_name(rank.rank) + " comes twice");
  }
  return ranks;
}

Result<void> check_iterations(const NewProfile& profile, const std::set<std::int64_t>& ranks) {
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (const ProfileIteration& iteration : profile.iterations) {
    const std::string name =
        "step " + std::to_string(iteration.step) + " of " + rank_name(iteration.rank);
    if (!ranks.contains(iteration.rank)) return refused(name + ": the profile has no such rank");
    if (!seen.emplace(iteration.rank, iteration.step).second) return refused(name + " comes twice");
  }
  return {};
}

Result<void> check_metrics(const NewProfile& profile, const std::set<std::int64_t>& ranks) {
  std::set<std::pair<std::optional<std::int64_t>, std::string_view>> seen;
  for (const ProfileMetric& metric : profile.metrics) {
    if (auto ok = check_text(metric.name, "a metric's name"); !ok) return ok;
    const std::string of = metric.rank ? " of " + rank_name(*metric.rank) : "";
    const std::string name = "metric " + in_quotes(metric.name) + of;
    if (metric.name.empty()) return refused("a metric" + of + " has no name");
    if (metric.rank && !ranks.contains(*metric.rank)) {
      return refused(name + ": the profile has no such rank");
    }
    if (auto ok = check_finite(metric.value, name); !ok) return ok;
    if (!seen.emplace(metric.rank, metric.name).second) return refused(name + " comes twice");
  }
  return {};
}

}  // namespace

Result<void> check(const NewProfile& profile) {
  if (!profile.name.empty()) {
    if (auto ok = check_name("profile", profile.name); !ok) return ok;
  }
  if (auto ok = check_text(profile.source, "the profile's source"); !ok) return ok;
  for (const auto& [document, what] : {std::pair(&profile.config, "the profile's configuration"),
                                       std::pair(&profile.structure, "the profile's structure"),
                                       std::pair(&profile.detail, "the profile's detail")}) {
    HOCKET_TRY(object_text(*document, what));
  }
  const auto ranks = checked_ranks(profile);
  HOCKET_TRY(ranks);
  return check_iterations(profile, *ranks).and_then([&] { return check_metrics(profile, *ranks); });
}

Result<void> check(const NewProfileRequest& request) {
  if (request.job.empty()) return refused("a request for a profile must name a job");
  if (request.iterations < 1) {
    return refused(std::to_string(request.iterations) +
                   " iterations cannot be profiled; expected 1 or more");
  }
  return check_text(request.job, "the job's name").and_then([&] {
    return check_actor(request.actor, "");
  });
}

Result<void> check_job(std::string_view job_id, std::string_view job_name) {
  if (job_id.empty()) return refused("a job that asks for requests must have an id");
  return check_text(job_id, "the job's id").and_then([&] {
    return check_text(job_name, "the job's name");
  });
}

ProfileRow row_of(const NewProfile& profile, const std::string& name, std::int64_t created_at_ns) {
  ProfileRow row{.id = 0,
                 .name = name,
                 .source = profile.source,
                 .topology_id = profile.topology_id,
                 .workload_id = profile.workload_id,
                 .config = profile.config,
                 .structure = profile.structure,
                 .detail = profile.detail,
                 .ranks = profile.ranks,
                 .created_at_ns = created_at_ns,
                 .kept = false};
  std::ranges::sort(row.ranks, {}, &ProfileRank::rank);
  return row;
}

std::int64_t oldest_request_ns(std::int64_t now_ns, std::int64_t max_age_ns) {
  std::int64_t oldest_ns = 0;
  if (!__builtin_sub_overflow(now_ns, max_age_ns, &oldest_ns)) return oldest_ns;
  return max_age_ns > 0 ? std::numeric_limits<std::int64_t>::min()
                        : std::numeric_limits<std::int64_t>::max();
}

Error no_such_profile(std::string_view name_or_id) {
  return {ErrorCode::not_found, "the store has no profile " + in_quotes(name_or_id) +
                                    "; `hocket profiles list` lists them"};
}

}  // namespace hocket::rules
