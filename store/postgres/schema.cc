#include "store/postgres/schema.h"

#include <charconv>
#include <string>

namespace hocket::postgres {
namespace {

constexpr const char* kCreateNote =
    "create one as docs/guides/cluster.md says, or name another store";

std::int64_t number_of(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Returns the version of the tables, 0 if there are none; invalid_argument if it is newer than
/// `newest`.
Result<std::int64_t> read_version(Session& session, std::int64_t newest) {
  const auto schema = session.execute("SELECT current_schema()");
  HOCKET_TRY(schema);
  const std::string store = "store " + session.target().shown;
  if (session.text(*schema).empty()) {
    return failure(ErrorCode::invalid_argument,
                   store + ": no schema of the connection's search_path exists; " + kCreateNote);
  }
  // Looks at the catalogue itself: to_regclass() may remember that there was no such table before
  // this transaction waited for another one.
  const auto tables = session.execute(
      "SELECT count(*) FROM pg_class WHERE relname = 'hocket_schema' "
      "AND relnamespace = to_regnamespace(quote_ident(current_schema()))");
  HOCKET_TRY(tables);
  if (number_of(session.text(*tables)) == 0) return 0;
  const auto found = session.execute("SELECT max(version) FROM hocket_schema");
  HOCKET_TRY(found);
  const std::int64_t version = number_of(session.text(*found));
  if (version >= 0 && version <= newest) return version;
  return failure(ErrorCode::invalid_argument,
                 store + " has version " + std::to_string(version) +
                     ", this hocket knows versions up to " + std::to_string(newest) +
                     "; use the newer hocket that wrote it, or name another store with --store or "
                     "HOCKET_STORE");
}

/// Refuses tables of another program where a store's are to be made.
Result<void> check_is_free(Session& session) {
  const auto taken = session.execute(
      "SELECT min(format('%I.%I', current_schema(), relname)) FROM pg_class "
      "WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND relname IN "
      "('topologies', 'workloads', 'studies', 'removed_studies', 'trials', 'measurements', "
      "'trial_outputs', 'promotions', 'key_states', 'quarantine', 'audit', 'profiles', "
      "'profile_ranks', 'profile_iterations', 'profile_metrics', 'profile_requests', "
      "'workers')");
  HOCKET_TRY(taken);
  const std::string name = session.text(*taken);
  if (name.empty()) return {};
  return failure(ErrorCode::invalid_argument,
                 "store " + session.target().shown + ": the table " + name +
                     " is another program's; give the store a schema of its own: " + kCreateNote);
}

/// Runs the steps that are due, within a transaction.
Result<void> run_steps(Session& session, std::span<const schema::Step> steps) {
  HOCKET_TRY(session.execute(
      "SELECT pg_advisory_xact_lock(hashtextextended('hocket ' || current_schema(), 0))"));
  const auto newest = static_cast<std::int64_t>(steps.size());
  // Another process may have run them while this one waited.
  const auto version = read_version(session, newest);
  HOCKET_TRY(version);
  if (*version == newest) return {};
  if (*version == 0) {
    HOCKET_TRY(check_is_free(session));
    HOCKET_TRY(session.execute("CREATE TABLE hocket_schema (version BIGINT NOT NULL)"));
    HOCKET_TRY(session.execute("INSERT INTO hocket_schema VALUES (0)"));
  }
  for (const schema::Step& step : steps.subspan(static_cast<std::size_t>(*version))) {
    if (step.postgres != nullptr) HOCKET_TRY(session.execute(step.postgres));
  }
  HOCKET_TRY(session.execute("UPDATE hocket_schema SET version = " + std::to_string(newest)));
  return {};
}

}  // namespace

Result<void> prepare_schema(Session& session, std::span<const schema::Step> steps) {
  const auto newest = static_cast<std::int64_t>(steps.size());
  const auto version = read_version(session, newest);
  HOCKET_TRY(version);
  if (*version == newest) return {};
  const std::string store = "store " + session.target().shown;
  if (session.target().read_only && *version == 0) {
    return failure(ErrorCode::not_found, "the " + store + " is empty; `hocket tune` fills it");
  }
  if (session.target().read_only) {
    return failure(ErrorCode::invalid_argument,
                   store + " has the older version " + std::to_string(*version) +
                       "; `hocket tune` brings it to version " + std::to_string(newest));
  }
  HOCKET_TRY(session.execute("BEGIN"));
  const auto ended = run_steps(session, steps);
  HOCKET_TRY(session.execute(ended ? "COMMIT" : "ROLLBACK"));
  return ended;
}

}  // namespace hocket::postgres
