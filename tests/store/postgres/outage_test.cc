// Tests a server of PostgreSQL that goes away: between calls, during a commit, and killed in the
// middle of writes.

#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <thread>

#include "store/open.h"
#include "store/postgres/postgres_database.h"
#include "store/sql/sql_store.h"
#include "tests/store/fixtures.h"
#include "tests/store/postgres/heard_changes.h"
#include "tests/store/postgres/server.h"
#include "tests/store/processes.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A server that keeps what is committed, for all tests that end and start it.
PostgresServer& durable_server() {
  static PostgresServer server({.is_durable = true});
  return server;
}

class PostgresOutage : public testing::Test {
 protected:
  PostgresServer& server_ = durable_server();
  const std::string place_ = server_.new_schema();
};

TEST_F(PostgresOutage, TheCallAfterARestartConnectsAgain) {
  const auto store = must(open_store(place_));
  must(store->create_study(sample_study("a")));
  server_.stop();
  for (int i = 0; i < 2; ++i) {
    const auto away = store->create_study(sample_study("b"));
    EXPECT_EQ(code_of(away), ErrorCode::unavailable);
    EXPECT_THAT(message_of(away), HasSubstr("cannot be reached"));
    EXPECT_EQ(code_of(store->studies()), ErrorCode::unavailable);
    EXPECT_EQ(code_of(store->change_count()), ErrorCode::unavailable);
  }
  EXPECT_EQ(code_of(open_store(place_)), ErrorCode::unavailable);
  server_.start();
  must(store->create_study(sample_study("c")));
  server_.stop();
  server_.start();
  EXPECT_EQ(must(store->studies()).size(), 2u);
  server_.stop();
  server_.start();
  EXPECT_TRUE(store->change_count());
}

TEST_F(PostgresOutage, AListenerIsThereAgainAndSaysThatItMayHaveMissedSomething) {
  const auto store = must(open_store(place_));
  must(store->upsert_topology(sample_topology()));
  must(store->upsert_workload(sample_workload()));
  const ConfigKey key{fingerprint(sample_topology()), fingerprint(sample_workload())};
  const NewPromotion push{.topology_id = 1, .workload_id = 1, .origin = PromotionOrigin::push};
  HeardChanges heard;
  const auto listener = must(store->listen(heard.callback()));
  must(store->promote(push));
  const KeyChange first{key, 1, PromotionStage::released};
  EXPECT_THAT(heard.first(1), ElementsAre(first));
  server_.kill();
  server_.start();
  const auto second = must(store->promote(push)).id;
  // It may hear of this one, or be late for it: then it has said that it may have missed some.
  const auto has_reconnected = [&] {
    const auto changes = heard.all();
    return std::ranges::any_of(changes, [](const auto& change) { return !change; });
  };
  while (!has_reconnected()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const KeyChange third{key, must(store->promote(push)).id, PromotionStage::released};
  const auto all = [&] {
    auto found = heard.all();
    std::erase(found, std::optional(KeyChange{key, second, PromotionStage::released}));
    return found;
  };
  while (all().size() < 3) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_THAT(all(), ElementsAre(first, std::nullopt, third));
}

TEST_F(PostgresOutage, AClaimIsLostWithTheServer) {
  const auto store = must(open_store(place_));
  must(store->upsert_topology(sample_topology()));
  must(store->upsert_workload(sample_workload()));
  auto claim = must(store->claim_key(1, 1));
  EXPECT_TRUE(claim->is_held());
  server_.stop();
  EXPECT_FALSE(claim->is_held());
  server_.start();
  EXPECT_FALSE(claim->is_held());
  EXPECT_TRUE(must(store->claim_key(1, 1)));
}

/// The fault of the next COMMIT of any connection.
enum class CommitFault { none, before, after, with_the_server };
CommitFault commit_fault = CommitFault::none;
postgres::Libpq real_libpq;

/// Makes a connection look as if its server had gone.
void cut(PGconn* connection) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
  close(pair[1]);
  ASSERT_EQ(dup2(pair[0], real_libpq.PQsocket(connection)), real_libpq.PQsocket(connection));
  close(pair[0]);
}

int send_with_faults(PGconn* connection, const char* sql) {
  if (std::string_view(sql) != "COMMIT" || commit_fault == CommitFault::none) {
    return real_libpq.PQsendQuery(connection, sql);
  }
  const CommitFault fault = std::exchange(commit_fault, CommitFault::none);
  if (fault == CommitFault::after) {
    EXPECT_EQ(real_libpq.PQsendQuery(connection, sql), 1);
    while (real_libpq.PQflush(connection) > 0) {
    }
    pollfd answered{real_libpq.PQsocket(connection), POLLIN, 0};
    EXPECT_EQ(poll(&answered, 1, 60'000), 1);
    cut(connection);
    return 1;
  }
  if (fault == CommitFault::with_the_server) durable_server().stop();
  cut(connection);
  return real_libpq.PQsendQuery(connection, sql);
}

class LostCommit : public PostgresOutage {
 protected:
  LostCommit() {
    real_libpq = must(postgres::open_libpq());
    postgres::Target target{
        .libpq = real_libpq, .uri = place_, .shown = "it", .busy_timeout_ms = 2'000};
    target.libpq.PQsendQuery = send_with_faults;
    store_ = std::make_unique<sql::SqlStore>(must(postgres::open_database(target)), WallClock());
    must(store_->create_study(sample_study("first")));
  }
  ~LostCommit() override { commit_fault = CommitFault::none; }

  std::unique_ptr<Store> store_;
};

TEST_F(LostCommit, ACommitThatTheServerMadeIsASuccess) {
  commit_fault = CommitFault::after;
  EXPECT_TRUE(store_->create_study(sample_study("second")));
  EXPECT_EQ(must(store_->studies()).size(), 2u);
}

TEST_F(LostCommit, ACommitThatTheServerDidNotSeeChangesNothing) {
  commit_fault = CommitFault::before;
  const auto lost = store_->create_study(sample_study("second"));
  EXPECT_EQ(code_of(lost), ErrorCode::unavailable);
  EXPECT_THAT(message_of(lost), HasSubstr("was lost"));
  EXPECT_EQ(must(store_->studies()).size(), 1u);
  EXPECT_TRUE(store_->create_study(sample_study("second")));
}

TEST_F(LostCommit, ACommitOfWhichNobodyCanBeAskedSaysSo) {
  commit_fault = CommitFault::with_the_server;
  const auto lost = store_->create_study(sample_study("second"));
  EXPECT_EQ(code_of(lost), ErrorCode::unavailable);
  EXPECT_THAT(message_of(lost), HasSubstr("whether it is stored is not known"));
  server_.start();
  EXPECT_EQ(must(store_->studies()).size(), 1u);
}

/// Finishes trials of study 1 until that fails; writes each id to `acknowledgements` after it.
int tell_until_it_fails(const std::string& place, int acknowledgements) {
  const auto store = open_store(place, {.busy_timeout_ms = 2'000});
  if (!worked(store)) return 1;
  for (;;) {
    const auto trial = (*store)->start_trial({1, {}, nlohmann::json::object()});
    if (!trial) return trial.error().code == ErrorCode::unavailable ? 0 : 2;
    TrialOutcome result = sample_result(static_cast<double>(trial->id));
    result.metrics["many"] = std::vector<double>(200, 1);
    const auto done = (*store)->finish_trial(trial->id, result);
    if (!done) return done.error().code == ErrorCode::unavailable ? 0 : 3;
    if (write(acknowledgements, &trial->id, sizeof trial->id) != sizeof trial->id) return 4;
  }
}

TEST_F(PostgresOutage, AKilledServerLosesNoTrialThatWasAcknowledged) {
  must(must(open_store(place_))->create_study(sample_study()));
  std::set<std::int64_t> told;
  for (int round = 0; round < 10; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Pipe pipe;
    const pid_t child = start_process([&] { return tell_until_it_fails(place_, pipe.ends[1]); });
    pipe.close_write();
    std::int64_t id = 0;
    for (int count = 0; read(pipe.ends[0], &id, sizeof id) == sizeof id;) {
      told.insert(id);
      // The writer continues meanwhile, so that the server dies at any point of a write.
      if (++count == 3 * round + 1) server_.kill();
    }
    EXPECT_EQ(exit_status(child), 0);
    server_.start();
    const auto store = must(open_store(place_));
    must(store->abandon_running_trials(1));
    std::set<std::int64_t> found;
    for (const auto& trial : must(store->trials(1, TrialDetail::with_measurements))) {
      found.insert(trial.id);
      EXPECT_EQ(trial.state, TrialState::complete);
      EXPECT_EQ(trial.value, static_cast<double>(trial.id));
      EXPECT_EQ(trial.measurements.at("many").size(), 200u) << "never half a trial";
    }
    for (const std::int64_t each : told) EXPECT_TRUE(found.contains(each)) << each;
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace hocket
