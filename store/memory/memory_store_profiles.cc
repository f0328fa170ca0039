// MemoryStore's functions for profiles and profile requests.

#include <algorithm>
#include <tuple>
#include <utility>

#include "store/memory/memory_store.h"
#include "store/memory/row_list.h"
#include "store/rules/profile_rules.h"
#include "store/rules/row_rules.h"

namespace hocket::memory {
namespace {

using Lock = std::unique_lock<std::mutex>;

tl::unexpected<Error> no_profile(std::int64_t id) {
  return failure(rules::no_such("profile", id));
}

}  // namespace

Result<ProfileRow> MemoryStore::add_profile(const NewProfile& profile) {
  if (auto ok = rules::check(profile); !ok) return failure(ok.error());
  const Lock lock = lock_for_change();
  if (auto ok = check_references(profile.topology_id, profile.workload_id); !ok) {
    return failure(ok.error());
  }
  const auto taken = [&](const std::string& name) -> Result<bool> {
    return std::ranges::find(profiles_, name, &ProfileRow::name) != profiles_.end();
  };
  std::string name = profile.name;
  if (name.empty()) {
    const auto* workload =
        profile.workload_id ? find_row(workloads_, *profile.workload_id) : nullptr;
    name = *rules::generated_name(
        rules::name_stem({}, workload == nullptr ? "" : workload->name, "profile"),
        last_profile_id_ + 1, taken);
  } else if (*taken(name)) {
    return failure(rules::name_taken(name, "profile"));
  }
  ProfileRow row = rules::row_of(profile, name, now_unix_ns_());
  row.id = ++last_profile_id_;
  profiles_.push_back(row);
  ProfileParts& parts = profile_parts_[row.id];
  parts = {profile.iterations, profile.metrics};
  std::ranges::sort(parts.iterations, {}, [](const ProfileIteration& iteration) {
    return std::pair(iteration.rank, iteration.step);
  });
  std::ranges::sort(parts.metrics, {}, [](const ProfileMetric& metric) {
    return std::tuple(metric.rank, std::string_view(metric.name));
  });
  return row;
}

Result<std::vector<ProfileRow>> MemoryStore::profiles() {
  const Lock lock(mutex_);
  return profiles_;
}

Result<ProfileRow> MemoryStore::profile(std::string_view name_or_id) {
  const Lock lock(mutex_);
  const auto id = rules::parse_id(name_or_id);
  const auto it = std::ranges::find_if(profiles_, [&](const ProfileRow& row) {
    return id ? row.id == *id : row.name == name_or_id;
  });
  if (it == profiles_.end()) return failure(rules::no_such_profile(name_or_id));
  return *it;
}

Result<std::vector<ProfileIteration>> MemoryStore::profile_iterations(std::int64_t profile_id) {
  const Lock lock(mutex_);
  const auto parts = profile_parts_.find(profile_id);
  if (parts == profile_parts_.end()) return no_profile(profile_id);
  return parts->second.iterations;
}

Result<std::vector<ProfileMetric>> MemoryStore::profile_metrics(std::int64_t profile_id) {
  const Lock lock(mutex_);
  const auto parts = profile_parts_.find(profile_id);
  if (parts == profile_parts_.end()) return no_profile(profile_id);
  return parts->second.metrics;
}

Result<void> MemoryStore::keep_profile(std::int64_t profile_id, bool kept) {
  const Lock lock = lock_for_change();
  auto* row = find_row(profiles_, profile_id);
  if (row == nullptr) return no_profile(profile_id);
  row->kept = kept;
  return {};
}

Result<void> MemoryStore::remove_profile(std::int64_t profile_id) {
  const Lock lock = lock_for_change();
  if (profile_parts_.erase(profile_id) == 0) return no_profile(profile_id);
  std::erase_if(profiles_, [&](const ProfileRow& row) { return row.id == profile_id; });
  return {};
}

Result<ProfileRequestRow> MemoryStore::request_profile(const NewProfileRequest& request) {
  if (auto ok = rules::check(request); !ok) return failure(ok.error());
  const Lock lock = lock_for_change();
  profile_requests_.push_back({.id = next_id(profile_requests_),
                               .job = request.job,
                               .iterations = request.iterations,
                               .actor = request.actor,
                               .requested_at_ns = now_unix_ns_(),
                               .taken_by = std::nullopt});
  return profile_requests_.back();
}

Result<std::optional<ProfileRequestRow>> MemoryStore::take_profile_request(
    std::string_view job_id, std::string_view job_name, std::int64_t max_age_ns) {
  if (auto ok = rules::check_job(job_id, job_name); !ok) return failure(ok.error());
  const Lock lock = lock_for_change();
  const std::int64_t oldest_ns = rules::oldest_request_ns(now_unix_ns_(), max_age_ns);
  for (ProfileRequestRow& row : profile_requests_) {
    if (row.taken_by || row.requested_at_ns < oldest_ns) continue;
    if (row.job != job_id && row.job != job_name) continue;
    row.taken_by = job_id;
    return row;
  }
  return std::nullopt;
}

Result<std::vector<ProfileRequestRow>> MemoryStore::profile_requests() {
  const Lock lock(mutex_);
  return profile_requests_;
}

}  // namespace hocket::memory
