// Tests opening a store on PostgreSQL: its schema, what is refused, and messages.

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include "store/config_source.h"
#include "store/open.h"
#include "store/postgres/libpq.h"
#include "store/postgres/schema.h"
#include "store/schema/tables.h"
#include "store/store_uri.h"
#include "tests/scoped_environment.h"
#include "tests/store/fixtures.h"
#include "tests/store/postgres/server.h"
#include "tests/store/processes.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A schema, and the server that it is on.
class OpenPostgres : public testing::Test {
 protected:
  std::string sql(const std::string& text) const { return server_.sql(schema_, text); }

  PostgresServer& server_ = PostgresServer::shared();
  const std::string store_ = server_.new_schema();
  const std::string schema_ = store_.substr(store_.rfind("%3D") + 3);
};

TEST(OpenLibpq, SaysWhatToInstallWhereItIsMissing) {
  const auto libpq = postgres::open_libpq("libnothing.so.5");
  EXPECT_EQ(code_of(libpq), ErrorCode::unavailable);
  EXPECT_EQ(message_of(libpq),
            "PostgreSQL: libnothing.so.5 was not found; install Debian's libpq5");
  EXPECT_THAT(message_of(postgres::open_libpq("libc.so.6")), HasSubstr("has no PQ"));
}

TEST_F(OpenPostgres, TheTablesAreThoseThatCopiesKnow) {
  must(open_store(store_));
  std::string expected = "hocket_schema.version bigint\n";
  std::set<std::string> lines{expected};
  const auto word_of = [](sql::Value::Type type) {
    using enum sql::Value::Type;
    return type == integer ? "bigint"
           : type == real  ? "double precision"
           : type == text  ? "text"
                           : "bytea";
  };
  for (const auto& table : schema::tables()) {
    for (const auto& column : table.columns) {
      lines.insert(std::string(table.name) + "." + std::string(column.name) + " " +
                   word_of(column.type) + "\n");
    }
  }
  expected.clear();
  for (const auto& line : lines) expected += line;
  EXPECT_EQ(sql("SELECT table_name || '.' || column_name || ' ' || data_type "
                "FROM information_schema.columns WHERE table_schema = current_schema() "
                "ORDER BY 1"),
            expected);
  for (const auto& table : schema::tables()) {
    std::string columns;
    for (const auto& column : table.columns) {
      columns += (columns.empty() ? "" : ",") + std::string(column.name);
    }
    EXPECT_EQ(sql("SELECT string_agg(column_name, ',' ORDER BY ordinal_position) "
                  "FROM information_schema.columns WHERE table_schema = current_schema() "
                  "AND table_name = '" +
                  std::string(table.name) + "'"),
              columns + "\n");
  }
}

TEST_F(OpenPostgres, FindsEverythingAgainBesideTablesOfOthers) {
  sql("CREATE TABLE other (x INT)");
  const auto study = must(must(open_store(store_))->create_study(sample_study("kept")));
  EXPECT_EQ(must(must(open_store(store_))->study("kept")), study);
  EXPECT_EQ(must(must(open_store(store_, {.read_only = true}))->study("kept")), study);
  EXPECT_EQ(sql("SELECT version FROM hocket_schema"),
            std::to_string(schema::newest_version()) + "\n");
}

TEST_F(OpenPostgres, ReadOnlyMakesNothingAndRefusesToWrite) {
  const auto missing = open_store(store_, {.read_only = true});
  EXPECT_EQ(code_of(missing), ErrorCode::not_found);
  EXPECT_THAT(message_of(missing), HasSubstr("is empty"));
  EXPECT_EQ(sql("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"), "0\n");
  must(must(open_store(store_))->create_study(sample_study()));
  const auto reader = must(open_store(store_, {.read_only = true}));
  const auto made = reader->create_study(sample_study());
  EXPECT_EQ(code_of(made), ErrorCode::unavailable);
  EXPECT_THAT(message_of(made), HasSubstr("read-only"));
  EXPECT_EQ(must(reader->studies()).size(), 1u) << "and goes on reading";
}

TEST_F(OpenPostgres, ANewerVersionIsRefusedAndAnOlderOneByReaders) {
  must(open_store(store_));
  const std::string newer = std::to_string(schema::newest_version() + 1);
  sql("UPDATE hocket_schema SET version = " + newer);
  for (const bool read_only : {false, true}) {
    const auto store = open_store(store_, {.read_only = read_only});
    EXPECT_EQ(code_of(store), ErrorCode::invalid_argument);
    EXPECT_THAT(message_of(store),
                AllOf(HasSubstr("has version " + newer), HasSubstr("use the newer hocket")));
  }
  EXPECT_EQ(sql("SELECT version FROM hocket_schema"), newer + "\n");
  sql("UPDATE hocket_schema SET version = 6");
  EXPECT_THAT(message_of(open_store(store_, {.read_only = true})), HasSubstr("older version 6"));
}

TEST_F(OpenPostgres, AStoreOfVersion6IsMigratedUnderAProgramThatHasItOpen) {
  const postgres::Target target{
      .libpq = must(postgres::open_libpq()), .uri = store_, .shown = "it", .busy_timeout_ms = 5000};
  const auto older = must(postgres::Session::connect(target));
  must(postgres::prepare_schema(*older, schema::steps().first(6)));
  EXPECT_EQ(sql("SELECT version FROM hocket_schema"), "6\n");
  const auto start = [&](int number) {
    must(
        older->execute("INSERT INTO trials (study_id, number, phase, state, params, message, "
                       "started_at_ns, worker, lease_until_ns) VALUES (1, " +
                       std::to_string(number) + ", 'search', 'running', '{}', '', 7, '', NULL)"));
  };
  must(
      older->execute("INSERT INTO studies VALUES (1, 'kept', '[]', '{}', 'running', 'o', NULL, "
                     "NULL, 1, 1, NULL, 'tune')"));
  start(1);
  const auto store = must(open_store(store_));
  EXPECT_EQ(sql("SELECT version FROM hocket_schema"),
            std::to_string(schema::newest_version()) + "\n");
  start(2);
  must(store->start_trial({.study_id = 1, .is_offered = true}));
  const auto claimed = must(store->claim_trial(1, {"a", "host", 1'000'000'000'000}));
  ASSERT_TRUE(claimed);
  EXPECT_EQ(claimed->number, 3);
  const auto trials = must(store->trials(1, TrialDetail::summary));
  ASSERT_EQ(trials.size(), 3u);
  for (const auto& row : trials) {
    EXPECT_FALSE(row.is_offered);
    EXPECT_EQ(row.losses, 0);
  }
  must(older->execute("DELETE FROM trials WHERE study_id = 1"));
  must(older->execute("DELETE FROM studies WHERE id = 1"));
  EXPECT_EQ(sql("SELECT count(*) FROM workers"), "0\n") << "they go with their study";
}

TEST_F(OpenPostgres, AStudyThatNobodyCanReadKeepsNoStoreFromBeingMigrated) {
  const postgres::Target target{
      .libpq = must(postgres::open_libpq()), .uri = store_, .shown = "it", .busy_timeout_ms = 5000};
  const auto older = must(postgres::Session::connect(target));
  must(postgres::prepare_schema(*older, schema::steps().first(7)));
  for (const char* table : {"topologies", "workloads"}) {
    must(older->execute(std::string("INSERT INTO ") + table +
                        " (id, fingerprint, name, document) VALUES (1, 'f', 'n', '{}')"));
  }
  const auto promoted_by = [&](int study, const std::string& definition) {
    const std::string id = std::to_string(study);
    must(older->execute("INSERT INTO studies VALUES (" + id + ", 's" + id + "', '[]', '" +
                        definition + "', 'running', 'o', 1, 1, 1, 1, NULL, 'tune')"));
    must(
        older->execute("INSERT INTO promotions (topology_id, workload_id, study_id, config, "
                       "promoted_at_ns) VALUES (1, 1, " +
                       id + ", '{}', 1)"));
  };
  promoted_by(1, R"({"space":{"X":"int:1..9"}})");
  promoted_by(2, R"({"space":)");
  promoted_by(3, R"({"space":[]})");
  promoted_by(4, "");
  must(open_store(store_));
  EXPECT_EQ(sql("SELECT declared FROM promotions ORDER BY id"),
            "{\"X\":\"int:1..9\"}\n{}\n{}\n{}\n");
}

TEST_F(OpenPostgres, RefusesTablesOfAnotherProgram) {
  sql("CREATE TABLE audit (x INT)");
  const auto store = open_store(store_);
  EXPECT_EQ(code_of(store), ErrorCode::invalid_argument);
  EXPECT_THAT(message_of(store), HasSubstr(schema_ + ".audit is another program's"));
  EXPECT_EQ(sql("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"), "1\n");
}

TEST_F(OpenPostgres, RefusesASearchPathWithoutASchemaAndAnotherEncoding) {
  const auto store = open_store(server_.uri("nowhere"));
  EXPECT_EQ(code_of(store), ErrorCode::invalid_argument);
  EXPECT_THAT(message_of(store), HasSubstr("no schema of the connection's search_path exists"));
  sql("CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0");
  std::string other = store_;
  other.replace(other.find("/postgres?"), 10, "/ascii?");
  EXPECT_THAT(message_of(open_store(other)), HasSubstr("encoding SQL_ASCII"));
}

TEST_F(OpenPostgres, ManyOpenANewStoreAtOnce) {
  for (int round = 0; round < 5; ++round) {
    const std::string store = server_.new_schema();
    Pipe gate;
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i) {
      children.push_back(start_process([&] {
        gate.close_write();
        char byte;
        (void)!read(gate.ends[0], &byte, 1);  // blocks until the parent opens the gate
        const auto opened = open_store(store, {.busy_timeout_ms = 60'000});
        return worked(opened) && worked((*opened)->create_study(sample_study())) ? 0 : 1;
      }));
    }
    gate.close_write();
    for (const pid_t child : children) EXPECT_EQ(exit_status(child), 0);
    EXPECT_EQ(must(must(open_store(store))->studies()).size(), 6u);
    if (HasFailure()) return;
  }
}

TEST_F(OpenPostgres, StepsRunOnceAndAStepThatFailsLeavesTheVersionBefore) {
  const postgres::Target target{
      .libpq = must(postgres::open_libpq()), .uri = store_, .shown = "it", .busy_timeout_ms = 5000};
  const auto session = must(postgres::Session::connect(target));
  const schema::Step first{"", "CREATE TABLE t (x INT); INSERT INTO t VALUES (1)"};
  const schema::Step second{"", "ALTER TABLE t ADD COLUMN y INT DEFAULT 2"};
  const schema::Step bad{"", "INSERT INTO t VALUES (7, 7); INSERT INTO missing VALUES (1)"};
  must(postgres::prepare_schema(*session, std::array{first}));
  must(postgres::prepare_schema(*session, std::array{first}));
  EXPECT_EQ(sql("SELECT count(*) FROM t"), "1\n");
  EXPECT_THAT(message_of(postgres::prepare_schema(*session, std::array{first, second, bad})),
              HasSubstr("missing"));
  EXPECT_EQ(sql("SELECT version FROM hocket_schema"), "1\n");
  must(postgres::prepare_schema(*session, std::array{first, second}));
  EXPECT_EQ(sql("SELECT version, x, y FROM hocket_schema, t"), "2|1|2\n");
}

TEST_F(OpenPostgres, AStoreThatIsOpenGoesOnWhenAnotherProcessAddsAColumn) {
  const auto store = must(open_store(store_));
  must(store->create_study(sample_study("a")));
  EXPECT_EQ(must(store->studies()).size(), 1u);
  sql("ALTER TABLE studies ADD COLUMN more TEXT NOT NULL DEFAULT ''");
  EXPECT_EQ(must(store->studies()).size(), 1u);
  must(store->create_study(sample_study("b")));
  EXPECT_EQ(must(store->study("b")).name, "b");
}

TEST_F(OpenPostgres, TimesAreThoseOfTheDatabase) {
  // A function of this name before PostgreSQL's own stands for a clock that is set otherwise.
  const auto set_clock = [&](int seconds) {
    sql("CREATE OR REPLACE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS "
        "'SELECT to_timestamp(" +
        std::to_string(seconds) + ".25)'");
  };
  set_clock(1'000);
  const auto store = must(open_store(store_ + ",pg_catalog"));
  const auto study = must(store->create_study(sample_study()));
  EXPECT_EQ(study.created_at_ns, 1'000'250'000'000);
  const auto trial = must(store->start_trial({study.id, {}, {{"x", 1}}, "w", 2'000'000'000}));
  EXPECT_EQ(trial.lease_until_ns, 1'002'250'000'000);
  set_clock(1'001);
  EXPECT_EQ(must(store->expire_leases(study.id)), 0);
  set_clock(1'002);
  EXPECT_EQ(must(store->expire_leases(study.id)), 1);
  const auto given = must(open_store(store_, {.now_unix_ns = [] { return std::int64_t{7}; }}));
  EXPECT_EQ(must(given->create_study(sample_study())).created_at_ns, 7);
}

TEST_F(OpenPostgres, AWriterWaitsForALockThenSaysHowLong) {
  const auto store = must(open_store(store_, {.busy_timeout_ms = 50}));
  const auto study = must(store->create_study(sample_study()));
  const postgres::Target target{
      .libpq = must(postgres::open_libpq()), .uri = store_, .shown = "it", .busy_timeout_ms = 5000};
  const auto other = must(postgres::Session::connect(target));
  must(other->execute("BEGIN"));
  must(other->execute("SELECT * FROM studies FOR UPDATE"));
  const auto late = store->update_study(study.id, {.owner = "x"});
  EXPECT_EQ(code_of(late), ErrorCode::timed_out);
  EXPECT_THAT(message_of(late), HasSubstr("locked by another process (waited 50 ms)"));
  EXPECT_EQ(must(store->studies()).size(), 1u) << "a reader does not wait";
  must(other->execute("ROLLBACK"));
  EXPECT_TRUE(store->update_study(study.id, {.owner = "x"}));
}

TEST_F(OpenPostgres, PasswordsAreGivenInTheWaysOfLibpq) {
  const std::string user = PostgresServer::kSecuredUser;
  sql("CREATE ROLE " + user + " LOGIN PASSWORD 'GEHEIM'; GRANT ALL ON SCHEMA " + schema_ + " TO " +
      user);
  const std::string uri = server_.uri(schema_, user);
  const auto with = [&](const std::string& parameter) { return open_store(uri + parameter); };
  const TemporaryFolder folder;
  const std::string file = folder.write("pgpass", "*:*:*:" + user + ":GEHEIM\n");
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  EXPECT_THAT(message_of(with("")), HasSubstr("no password supplied"));
  EXPECT_EQ(code_of(with("")), ErrorCode::unavailable);
  EXPECT_TRUE(with("&passfile=" + file));
  EXPECT_TRUE(with("&password=GEHEIM"));
  std::string in_front = uri;
  in_front.replace(in_front.find('@'), 1, ":GEH%45IM@");
  EXPECT_TRUE(open_store(in_front));
  {
    const ScopedEnvironment variable("PGPASSFILE", file.c_str());
    EXPECT_TRUE(with(""));
  }
  const auto wrong = with("&password=VERKEHRT");
  EXPECT_EQ(code_of(wrong), ErrorCode::unavailable);
  EXPECT_THAT(message_of(wrong),
              AllOf(HasSubstr("password authentication failed"), Not(HasSubstr("VERKEHRT"))));
}

TEST_F(OpenPostgres, AJobFindsItsConfiguration) {
  constexpr std::int64_t kMinuteNs = 60'000'000'000;
  const auto source = open_config_source(store_);
  EXPECT_FALSE(must(source->find(sample_topology(), sample_workload(), kMinuteNs)));
  const auto store = must(open_store(store_));
  ScheduleConfig config;
  config.streams = 3;
  must(store->promote({.topology_id = must(store->upsert_topology(sample_topology())),
                       .workload_id = must(store->upsert_workload(sample_workload())),
                       .config = to_json(config),
                       .origin = PromotionOrigin::push,
                       .actor = "ada"}));
  const auto found = must(source->find(sample_topology(), sample_workload(), kMinuteNs));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->config, config);
  const auto away = open_config_source("postgresql://ada:GEHEIM@/x?host=/nowhere");
  EXPECT_THAT(message_of(away->find(sample_topology(), sample_workload(), kMinuteNs)),
              AllOf(HasSubstr("cannot be reached"), Not(HasSubstr("GEHEIM"))));
}

TEST_F(OpenPostgres, NoMessageHasThePassword) {
  must(open_store(store_));
  const std::string host = store_.substr(store_.find("host="));
  const std::string nowhere = "/postgres?host=/nowhere";
  for (const std::string& uri : std::vector<std::string>{
           "postgresql://hocket:GEHEIM@" + nowhere,
           "postgresql://hocket:GEHEIM@/none?" + host,
           "postgresql://nobody:GEHEIM@/postgres?" + host,
           "postgresql://hocket@" + nowhere + "&password=GEHEIM",
           "postgresql://hocket:GEHEIM@/postgres?nonsense=1",
           "postgresql://hocket:GEHEIM%zz@/postgres",
           "postgresql://hocket:GEHEIM@[::1/postgres",
           "postgresql://hocket:GEHEIM@/postgres?port=x",
           "postgresql://hocket:GEHEIM/x@host/postgres",
           "postgresql://hocket:GEHEIM/postgres",
           std::string("postgresql://hocket:GEHEIM@/postgres?options=-csearch_path%3Dnowhere&") +
               host.substr(0, host.find('&')),
       }) {
    SCOPED_TRACE(uri);
    for (const bool read_only : {false, true}) {
      const auto store = open_store(uri, {.read_only = read_only, .busy_timeout_ms = 100});
      EXPECT_THAT(message_of(store), AllOf(Not(HasSubstr("GEHEIM")), HasSubstr("postgresql://")));
    }
  }
  std::string with_password = store_;
  with_password.replace(with_password.find("hocket@"), 7, "hocket:GEHEIM@");
  const auto reader = must(open_store(with_password, {.read_only = true}));
  EXPECT_THAT(message_of(reader->create_study(sample_study())),
              AllOf(Not(HasSubstr("GEHEIM")), HasSubstr("hocket:***@")));
}

}  // namespace
}  // namespace hocket
