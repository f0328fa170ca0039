// SqliteStore's functions for profiles and profile requests.

#include <map>

#include "store/rules/profile_rules.h"
#include "store/rules/row_rules.h"
#include "store/sqlite/read_rows.h"
#include "store/sqlite/sqlite_store.h"

namespace hocket::sqlite {
namespace {

using Kind = Transaction::Kind;

}  // namespace

Result<std::string> SqliteStore::new_name(const NewProfile& profile, std::int64_t id) {
  const auto taken = [&](const std::string& name) -> Result<bool> {
    return db_.integer("SELECT id FROM profiles WHERE name = ?1", name).map([](const auto& found) {
      return found.has_value();
    });
  };
  if (!profile.name.empty()) {
    const auto is_taken = taken(profile.name);
    HOCKET_TRY(is_taken);
    if (*is_taken) return failure(rules::name_taken(profile.name, "profile"));
    return profile.name;
  }
  const auto workload_name = name_of_workload(profile.workload_id);
  HOCKET_TRY(workload_name);
  return rules::generated_name(rules::name_stem({}, *workload_name, "profile"), id, taken);
}

Result<void> SqliteStore::write_parts(std::int64_t profile_id, const NewProfile& profile) {
  for (const ProfileRank& rank : profile.ranks) {
    const auto ok = db_.execute(
        "INSERT INTO profile_ranks (profile_id, rank, host, trace_path, records, dropped, "
        "quarantined, clock_fit) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        profile_id, rank.rank, rank.host, rank.trace_path, rank.records, rank.dropped,
        rank.quarantined, rank.clock_fit.dump());
    if (!ok) return ok;
  }
  for (const ProfileIteration& each : profile.iterations) {
    const auto ok = db_.execute(
        "INSERT INTO profile_iterations (profile_id, rank, step, begin_ns, wall_ns, compute_ns, "
        "communication_ns, exposed_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        profile_id, each.rank, each.step, each.begin_ns, each.wall_ns, each.compute_ns,
        each.communication_ns, each.exposed_ns);
    if (!ok) return ok;
  }
  for (const ProfileMetric& metric : profile.metrics) {
    const auto ok = db_.execute(
        "INSERT INTO profile_metrics (profile_id, rank, name, value) VALUES (?1, ?2, ?3, ?4)",
        profile_id, metric.rank, metric.name, metric.value);
    if (!ok) return ok;
  }
  return {};
}

Result<ProfileRow> SqliteStore::add_profile(const NewProfile& profile) {
  HOCKET_TRY(rules::check(profile));
  return transact(Kind::write, [&]() -> Result<ProfileRow> {
    HOCKET_TRY(check_references(profile.topology_id, profile.workload_id));
    const auto last = db_.integer("SELECT seq FROM sqlite_sequence WHERE name = 'profiles'");
    HOCKET_TRY(last);
    const std::int64_t id = last->value_or(0) + 1;
    const auto name = new_name(profile, id);
    HOCKET_TRY(name);
    ProfileRow row = rules::row_of(profile, *name, now_unix_ns_());
    row.id = id;
    HOCKET_TRY(db_.execute(
        "INSERT INTO profiles (id, name, source, topology_id, workload_id, config, structure, "
        "detail, created_at_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        row.id, row.name, row.source, row.topology_id, row.workload_id, row.config.dump(),
        row.structure.dump(), row.detail.dump(), row.created_at_ns));
    HOCKET_TRY(write_parts(id, profile));
    return row;
  });
}

Result<void> SqliteStore::read_ranks(std::vector<ProfileRow>& profiles) {
  if (profiles.empty()) return {};
  std::map<std::int64_t, ProfileRow*> by_id;
  for (ProfileRow& profile : profiles) by_id[profile.id] = &profile;
  auto query = db_.query(
      "SELECT * FROM profile_ranks WHERE profile_id BETWEEN ?1 AND ?2 ORDER BY profile_id, rank",
      profiles.front().id, profiles.back().id);
  HOCKET_TRY(query);
  for (;;) {
    const auto more = query->next();
    HOCKET_TRY(more);
    if (!*more) return {};
    auto rank = read_profile_rank(*query);
    HOCKET_TRY(rank);
    const auto owner = by_id.find(query->integer(0));
    if (owner != by_id.end()) owner->second->ranks.push_back(std::move(*rank));
  }
}

Result<std::vector<ProfileRow>> SqliteStore::profiles() {
  return transact(Kind::read, [&]() -> Result<std::vector<ProfileRow>> {
    auto found = rows(db_.query("SELECT * FROM profiles ORDER BY id"), read_profile);
    if (!found) return found;
    HOCKET_TRY(read_ranks(*found));
    return found;
  });
}

Result<ProfileRow> SqliteStore::profile(std::string_view name_or_id) {
  return transact(Kind::read, [&]() -> Result<ProfileRow> {
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

Result<void> SqliteStore::check_profile_id(std::int64_t profile_id) {
  const auto id = db_.integer("SELECT id FROM profiles WHERE id = ?1", profile_id);
  HOCKET_TRY(id);
  if (!*id) return failure(rules::no_such("profile", profile_id));
  return {};
}

Result<std::vector<ProfileIteration>> SqliteStore::profile_iterations(std::int64_t profile_id) {
  return transact(Kind::read, [&]() -> Result<std::vector<ProfileIteration>> {
    HOCKET_TRY(check_profile_id(profile_id));
    return rows(db_.query("SELECT * FROM profile_iterations WHERE profile_id = ?1 "
                          "ORDER BY rank, step",
                          profile_id),
                read_profile_iteration);
  });
}

Result<std::vector<ProfileMetric>> SqliteStore::profile_metrics(std::int64_t profile_id) {
  return transact(Kind::read, [&]() -> Result<std::vector<ProfileMetric>> {
    HOCKET_TRY(check_profile_id(profile_id));
    return rows(db_.query("SELECT * FROM profile_metrics WHERE profile_id = ?1 "
                          "ORDER BY coalesce(rank, -1), name",
                          profile_id),
                read_profile_metric);
  });
}

Result<void> SqliteStore::keep_profile(std::int64_t profile_id, bool kept) {
  return transact(Kind::write, [&]() -> Result<void> {
    if (auto ok = check_profile_id(profile_id); !ok) return ok;
    return db_.execute("UPDATE profiles SET kept = ?2 WHERE id = ?1", profile_id,
                       std::int64_t{kept});
  });
}

Result<void> SqliteStore::remove_profile(std::int64_t profile_id) {
  return transact(Kind::write, [&]() -> Result<void> {
    if (auto ok = check_profile_id(profile_id); !ok) return ok;
    return db_.execute("DELETE FROM profiles WHERE id = ?1", profile_id);
  });
}

Result<ProfileRequestRow> SqliteStore::request_profile(const NewProfileRequest& request) {
  HOCKET_TRY(rules::check(request));
  return transact(Kind::write, [&]() -> Result<ProfileRequestRow> {
    ProfileRequestRow row{.id = 0,
                          .job = request.job,
                          .iterations = request.iterations,
                          .actor = request.actor,
                          .requested_at_ns = now_unix_ns_(),
                          .taken_by = std::nullopt};
    HOCKET_TRY(
        db_.execute("INSERT INTO profile_requests (job, iterations, actor, requested_at_ns) "
                    "VALUES (?1, ?2, ?3, ?4)",
                    row.job, row.iterations, row.actor, row.requested_at_ns));
    row.id = db_.last_insert_id();
    return row;
  });
}

Result<std::optional<ProfileRequestRow>> SqliteStore::open_request(std::string_view job_id,
                                                                   std::string_view job_name,
                                                                   std::int64_t oldest_ns) {
  return first(db_.query("SELECT * FROM profile_requests WHERE job IN (?1, ?2) "
                         "AND taken_by IS NULL AND requested_at_ns >= ?3 ORDER BY id LIMIT 1",
                         job_id, job_name, oldest_ns),
               read_profile_request);
}

Result<std::optional<ProfileRequestRow>> SqliteStore::take_profile_request(
    std::string_view job_id, std::string_view job_name, std::int64_t max_age_ns) {
  HOCKET_TRY(rules::check_job(job_id, job_name));
  const std::int64_t oldest_ns = rules::oldest_request_ns(now_unix_ns_(), max_age_ns);
  const auto look = [&] { return open_request(job_id, job_name, oldest_ns); };
  // Jobs ask often and mostly find nothing: this must not take the lock that writers wait for.
  auto seen = transact(Kind::read, look);
  if (!seen || !*seen) return seen;
  return transact(Kind::write, [&]() -> Result<std::optional<ProfileRequestRow>> {
    auto row = look();
    if (!row || !*row) return row;
    HOCKET_TRY(
        db_.execute("UPDATE profile_requests SET taken_by = ?2 WHERE id = ?1", (*row)->id, job_id));
    (*row)->taken_by = job_id;
    return row;
  });
}

Result<std::vector<ProfileRequestRow>> SqliteStore::profile_requests() {
  return transact(Kind::read, [&] {
    return rows(db_.query("SELECT * FROM profile_requests ORDER BY id"), read_profile_request);
  });
}

}  // namespace hocket::sqlite
