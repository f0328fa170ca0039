// SqlStore's functions for profiles and profile requests.

#include <map>

#include "store/rules/profile_rules.h"
#include "store/rules/row_rules.h"
#include "store/sql/read_rows.h"
#include "store/sql/sql_store.h"

namespace hocket::sql {

Result<void> SqlStore::check_name_is_free(const NewProfile& profile) {
  if (profile.name.empty()) return {};
  const auto found = db_.integer("SELECT id FROM profiles WHERE name = ?1", profile.name);
  HOCKET_TRY(found);
  if (*found) return failure(rules::name_taken(profile.name, "profile"));
  return {};
}

Result<std::string> SqlStore::new_name(const NewProfile& profile, std::int64_t id) {
  if (!profile.name.empty()) return profile.name;
  const auto taken = [&](const std::string& name) -> Result<bool> {
    return db_.integer("SELECT id FROM profiles WHERE name = ?1", name).map([](const auto& found) {
      return found.has_value();
    });
  };
  const auto workload_name = name_of_workload(profile.workload_id);
  HOCKET_TRY(workload_name);
  return rules::generated_name(rules::name_stem({}, *workload_name, "profile"), id, taken);
}

Result<void> SqlStore::write_parts(std::int64_t profile_id, const NewProfile& profile) {
  for (const ProfileRank& rank : profile.ranks) {
    HOCKET_TRY(db_.execute(
        "INSERT INTO profile_ranks (profile_id, rank, host, trace_path, records, dropped, "
        "quarantined, clock_fit) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        profile_id, rank.rank, rank.host, AnyText{rank.trace_path}, rank.records, rank.dropped,
        rank.quarantined, rank.clock_fit.dump()));
  }
  std::vector<std::vector<Value>> iterations, metrics;
  for (const ProfileIteration& each : profile.iterations) {
    iterations.push_back({profile_id, each.rank, each.step, each.begin_ns, each.wall_ns,
                          each.compute_ns, each.communication_ns, each.exposed_ns});
  }
  for (const ProfileMetric& metric : profile.metrics) {
    metrics.push_back({profile_id, metric.rank, metric.name, metric.value});
  }
  HOCKET_TRY(db_.change_each(
      "INSERT INTO profile_iterations (profile_id, rank, step, begin_ns, wall_ns, compute_ns, "
      "communication_ns, exposed_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
      iterations));
  return db_.change_each(
      "INSERT INTO profile_metrics (profile_id, rank, name, value) VALUES (?1, ?2, ?3, ?4)",
      metrics);
}

Result<ProfileRow> SqlStore::add_profile(const NewProfile& profile) {
  HOCKET_TRY(rules::check(profile));
  return transact(Access::write, [&]() -> Result<ProfileRow> {
    HOCKET_TRY(check_references(profile.topology_id, profile.workload_id));
    HOCKET_TRY(db_.hold("profiles"));
    HOCKET_TRY(check_name_is_free(profile));
    const auto id = db_.next_id("profiles");
    HOCKET_TRY(id);
    const auto name = new_name(profile, *id);
    HOCKET_TRY(name);
    const auto at_ns = now_ns();
    HOCKET_TRY(at_ns);
    ProfileRow row = rules::row_of(profile, *name, *at_ns);
    row.id = *id;
    HOCKET_TRY(db_.execute(
        "INSERT INTO profiles (id, name, source, topology_id, workload_id, config, structure, "
        "detail, created_at_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        row.id, row.name, row.source, row.topology_id, row.workload_id, row.config.dump(),
        row.structure.dump(), row.detail.dump(), row.created_at_ns));
    HOCKET_TRY(write_parts(*id, profile));
    return row;
  });
}

Result<void> SqlStore::read_ranks(std::vector<ProfileRow>& profiles, UnreadRows* unread) {
  if (profiles.empty()) return {};
  std::map<std::int64_t, ProfileRow*> by_id;
  for (ProfileRow& profile : profiles) by_id[profile.id] = &profile;
  auto query = db_.query(
      "SELECT * FROM profile_ranks WHERE profile_id BETWEEN ?1 AND ?2 ORDER BY profile_id, rank",
      profiles.front().id, profiles.back().id);
  HOCKET_TRY(query);
  for (;;) {
    const auto more = (*query)->next();
    HOCKET_TRY(more);
    if (!*more) return {};
    auto rank = read_profile_rank(**query);
    if (!rank && unread != nullptr) {
      unread->push_back(unread_text(**query, "a rank of profile", rank.error()));
      continue;
    }
    HOCKET_TRY(rank);
    const auto owner = by_id.find((*query)->integer(0));
    if (owner != by_id.end()) owner->second->ranks.push_back(std::move(*rank));
  }
}

Result<std::vector<ProfileRow>> SqlStore::profiles(UnreadRows* unread) {
  return transact(Access::read, [&]() -> Result<std::vector<ProfileRow>> {
    auto found =
        rows(db_.query("SELECT * FROM profiles ORDER BY id"), read_profile, "profile", unread);
    if (!found) return found;
    HOCKET_TRY(read_ranks(*found, unread));
    return found;
  });
}

Result<ProfileRow> SqlStore::profile(std::string_view name_or_id) {
  if (!rules::is_text(name_or_id)) return failure(rules::no_such_profile(name_or_id));
  return transact(Access::read, [&]() -> Result<ProfileRow> {
    const auto id = rules::parse_id(name_or_id);
    auto found =
        id ? rows(db_.query("SELECT * FROM profiles WHERE id = ?1", *id), read_profile)
           : rows(db_.query("SELECT * FROM profiles WHERE name = ?1", name_or_id), read_profile);
    HOCKET_TRY(found);
    if (found->empty()) return failure(rules::no_such_profile(name_or_id));
    HOCKET_TRY(read_ranks(*found));
    return std::move(found->front());
  });
}

Result<void> SqlStore::check_profile_id(std::int64_t profile_id) {
  const auto id = db_.integer("SELECT id FROM profiles WHERE id = ?1", profile_id);
  HOCKET_TRY(id);
  if (!*id) return failure(rules::no_such("profile", profile_id));
  return {};
}

Result<std::vector<ProfileIteration>> SqlStore::profile_iterations(std::int64_t profile_id) {
  return transact(Access::read, [&]() -> Result<std::vector<ProfileIteration>> {
    HOCKET_TRY(check_profile_id(profile_id));
    return rows(db_.query("SELECT * FROM profile_iterations WHERE profile_id = ?1 "
                          "ORDER BY rank, step",
                          profile_id),
                read_profile_iteration);
  });
}

Result<std::vector<ProfileMetric>> SqlStore::profile_metrics(std::int64_t profile_id,
                                                             UnreadRows* unread) {
  return transact(Access::read, [&]() -> Result<std::vector<ProfileMetric>> {
    HOCKET_TRY(check_profile_id(profile_id));
    return rows(db_.query("SELECT * FROM profile_metrics WHERE profile_id = ?1 "
                          "ORDER BY coalesce(rank, -1), name",
                          profile_id),
                read_profile_metric, "a metric of profile", unread);
  });
}

Result<void> SqlStore::keep_profile(std::int64_t profile_id, bool kept) {
  return transact(Access::write, [&]() -> Result<void> {
    HOCKET_TRY(check_profile_id(profile_id));
    HOCKET_TRY(
        db_.execute("UPDATE profiles SET kept = ?2 WHERE id = ?1", profile_id, std::int64_t{kept}));
    return {};
  });
}

Result<void> SqlStore::remove_profile(std::int64_t profile_id) {
  return transact(Access::write, [&]() -> Result<void> {
    HOCKET_TRY(check_profile_id(profile_id));
    HOCKET_TRY(db_.execute("DELETE FROM profiles WHERE id = ?1", profile_id));
    return {};
  });
}

Result<ProfileRequestRow> SqlStore::request_profile(const NewProfileRequest& request) {
  HOCKET_TRY(rules::check(request));
  return transact(Access::write, [&]() -> Result<ProfileRequestRow> {
    const auto at_ns = now_ns();
    HOCKET_TRY(at_ns);
    ProfileRequestRow row{.id = 0,
                          .job = request.job,
                          .iterations = request.iterations,
                          .actor = request.actor,
                          .requested_at_ns = *at_ns,
                          .taken_by = std::nullopt};
    const auto id = db_.integer(
        "INSERT INTO profile_requests (job, iterations, actor, requested_at_ns) "
        "VALUES (?1, ?2, ?3, ?4) RETURNING id",
        row.job, row.iterations, row.actor, row.requested_at_ns);
    HOCKET_TRY(id);
    row.id = id->value_or(0);
    return row;
  });
}

Result<std::optional<ProfileRequestRow>> SqlStore::open_request(std::string_view job_id,
                                                                std::string_view job_name,
                                                                std::int64_t max_age_ns,
                                                                Access access) {
  constexpr std::string_view kSeen =
      "SELECT * FROM profile_requests WHERE job IN (?1, ?2) "
      "AND taken_by IS NULL AND requested_at_ns >= ?3 ORDER BY id LIMIT 1";
  constexpr std::string_view kLocked =
      "SELECT * FROM profile_requests WHERE job IN (?1, ?2) "
      "AND taken_by IS NULL AND requested_at_ns >= ?3 ORDER BY id LIMIT 1 {FOR UPDATE SKIP LOCKED}";
  const auto at_ns = now_ns();
  HOCKET_TRY(at_ns);
  return first(db_.query(access == Access::write ? kLocked : kSeen, job_id, job_name,
                         rules::oldest_request_ns(*at_ns, max_age_ns)),
               read_profile_request);
}

Result<std::optional<ProfileRequestRow>> SqlStore::take_profile_request(std::string_view job_id,
                                                                        std::string_view job_name,
                                                                        std::int64_t max_age_ns) {
  HOCKET_TRY(rules::check_job(job_id, job_name));
  const auto look = [&](Access access) {
    return open_request(job_id, job_name, max_age_ns, access);
  };
  // Jobs ask often and mostly find nothing: this must not take the lock that writers wait for.
  auto seen = transact(Access::read, [&] { return look(Access::read); });
  if (!seen || !*seen) return seen;
  return transact(Access::write, [&]() -> Result<std::optional<ProfileRequestRow>> {
    auto row = look(Access::write);
    if (!row || !*row) return row;
    HOCKET_TRY(
        db_.execute("UPDATE profile_requests SET taken_by = ?2 WHERE id = ?1", (*row)->id, job_id));
    (*row)->taken_by = job_id;
    return row;
  });
}

Result<std::vector<ProfileRequestRow>> SqlStore::profile_requests() {
  return transact(Access::read, [&] {
    return rows(db_.query("SELECT * FROM profile_requests ORDER BY id"), read_profile_request);
  });
}

}  // namespace hocket::sql
