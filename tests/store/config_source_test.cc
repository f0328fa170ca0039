#include "store/config_source.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <limits>

#include "store/open.h"
#include "store/sqlite/connection.h"
#include "tests/silent_server.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMinuteNs = 60'000'000'000;

class ConfigSourceTest : public testing::Test {
 protected:
  void promote(const nlohmann::json& config) {
    const auto store =
        must(open_store(path_, {.now_unix_ns = [] { return 1'795'219'200'000'000'000; }}));
    const auto topology = must(store->upsert_topology(sample_topology()));
    const auto workload = must(store->upsert_workload(sample_workload()));
    const auto study = must(store->create_study(sample_study()));
    must(store->promote({topology, workload, study.id, config, MeasuredGain{1, 2, 0.5}}));
  }

  Result<std::optional<StoredConfig>> find(std::int64_t timeout_ns = kMinuteNs) {
    return open_config_source(path_)->find(sample_topology(), sample_workload(), timeout_ns);
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("store.db");
};

TEST_F(ConfigSourceTest, FindsTheCurrentPromotionOfExactlyThisJob) {
  ScheduleConfig config;
  config.streams = 2;
  promote(to_json(config));
  config.streams = 3;
  promote(to_json(config));
  const auto found = must(find());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->config, config);
  EXPECT_EQ(found->origin, "study train-2, 2026-11-21");
  EXPECT_TRUE(must(find(std::numeric_limits<std::int64_t>::max())));

  const auto source = open_config_source(path_);
  EXPECT_FALSE(must(source->find(sample_topology(8), sample_workload(), kMinuteNs)));
  EXPECT_FALSE(must(source->find(sample_topology(), sample_workload("other"), kMinuteNs)));
}

TEST_F(ConfigSourceTest, AKeyWithoutConfigurationGivesTheDefaultAndSaysSince) {
  ScheduleConfig config;
  config.streams = 2;
  promote(to_json(config));
  const auto store =
      must(open_store(path_, {.now_unix_ns = [] { return 1'795'219'200'000'000'000; }}));
  must(store->promote({.topology_id = 1,
                       .workload_id = 1,
                       .config = nlohmann::json::object(),
                       .origin = PromotionOrigin::rollback,
                       .actor = "ada"}));
  const auto found = must(find());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->config, ScheduleConfig());
  EXPECT_EQ(found->source, "default");
  EXPECT_EQ(found->origin, "rollback to the default by ada, 2026-11-21");
}

TEST_F(ConfigSourceTest, SaysWhoPushedWhatIsNotFromAStudy) {
  promote(to_json(ScheduleConfig()));
  const auto store =
      must(open_store(path_, {.now_unix_ns = [] { return 1'795'219'200'000'000'000; }}));
  NewPromotion pushed{.topology_id = 1,
                      .workload_id = 1,
                      .config = to_json(ScheduleConfig()),
                      .origin = PromotionOrigin::push,
                      .stage = PromotionStage::staged,
                      .actor = "ada"};
  const auto staged = must(store->promote(pushed)).id;
  EXPECT_EQ(must(find())->origin, "study train-1, 2026-11-21") << "one job tries the other";
  must(store->set_stage(staged, PromotionStage::released, "ada", ""));
  EXPECT_EQ(must(find())->origin, "push by ada, 2026-11-21");
  pushed.origin = PromotionOrigin::live;
  pushed.stage = PromotionStage::released;
  pushed.actor = "";
  must(store->promote(pushed));
  EXPECT_EQ(must(find())->origin, "live tuning, 2026-11-21");
}

TEST_F(ConfigSourceTest, GivesAJobTheNewestVersionThatItSaysItCanRun) {
  ScheduleConfig config;
  config.streams = 2;
  promote(to_json(config));
  config.streams = 3;
  promote(to_json(config));
  const auto find_for = [&](std::int64_t most_streams) {
    RunnableValues can_run;
    can_run.start = {{"streams", {.high = most_streams}}};
    const auto source = open_config_source(path_, can_run);
    return must(source->find(sample_topology(), sample_workload(), kMinuteNs));
  };
  EXPECT_EQ(find_for(3)->config.streams, 3);
  const auto older = find_for(2);
  EXPECT_EQ(older->config.streams, 2);
  EXPECT_THAT(older->warnings,
              testing::ElementsAre("version 2 is not used: streams=3: the job can start with at "
                                   "most 2"));
  const auto none = find_for(1);
  EXPECT_EQ(none->source, "default");
  EXPECT_EQ(none->config, ScheduleConfig{});
  EXPECT_EQ(none->warnings.size(), 2U);
}

TEST_F(ConfigSourceTest, AMissingStoreHoldsNothingAndStaysMissing) {
  EXPECT_FALSE(must(find()));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ConfigSourceTest, SeesWhatWasPromotedAfterItWasOpened) {
  const auto source = open_config_source(path_);
  promote(to_json(ScheduleConfig()));
  EXPECT_TRUE(must(source->find(sample_topology(), sample_workload(), kMinuteNs)));
}

TEST_F(ConfigSourceTest, AConfigurationThatIsNoneIsAnError) {
  promote(to_json(ScheduleConfig()));
  // The store itself refuses it, but other programs write to the file as well.
  auto file = must(sqlite::Connection::open(path_, sqlite::Connection::Mode::create, 0));
  must(
      file.execute("UPDATE promotions SET config = '{\"format\":\"hocket-schedule\",\"version\":1,"
                   "\"streams\":-1}'"));
  EXPECT_THAT(message_of(find()), testing::AllOf(HasSubstr("train-1"), HasSubstr("streams")));
}

TEST_F(ConfigSourceTest, AFileThatIsNoStoreIsAnError) {
  write_bytes(path_, "text");
  EXPECT_THAT(message_of(find()), HasSubstr("not an SQLite database"));
}

// An abandoned call continues while the process ends and its statics are destroyed.
TEST_F(ConfigSourceTest, IsRightWhileTheProcessEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  static std::string path;
  const auto find_last = [] {
    const auto found =
        open_config_source(path)->find(sample_topology(), sample_workload(), kMinuteNs);
    std::filesystem::remove_all(
        std::filesystem::path(path).parent_path());  // the fixture's destructor does not run
    std::_Exit(found && *found ? 0 : 1);
  };
  EXPECT_EXIT(
      {
        path = path_;
        std::atexit(find_last);  // runs after later statics have been destroyed
        promote(to_json(ScheduleConfig()));
        must(find());
        std::exit(2);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(ConfigSourceTest, ALockedStoreIsGivenUpInTime) {
  promote(to_json(ScheduleConfig()));
  {
    auto other = must(sqlite::Connection::open(path_, sqlite::Connection::Mode::create, 0));
    must(other.execute_script("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE"));
    for (const std::int64_t timeout_ns : {-1, 0, 20'000'000}) {
      const auto found = find(timeout_ns);
      EXPECT_EQ(code_of(found), ErrorCode::timed_out);
      EXPECT_THAT(message_of(found), HasSubstr(path_));
    }
  }
  EXPECT_TRUE(must(find()));
}

TEST_F(ConfigSourceTest, AServerThatIsSilentIsGivenUpInTime) {
  for (const auto silence :
       {SilentServer::Silence::from_the_start, SilentServer::Silence::once_ready}) {
    const SilentServer server(silence);
    const auto found =
        open_config_source(server.store())->find(sample_topology(), sample_workload(), 20'000'000);
    EXPECT_EQ(code_of(found), ErrorCode::timed_out);
    EXPECT_THAT(message_of(found), HasSubstr("did not answer within 20 ms"));
  }
}

TEST(SilentStore, IsNotOpenedAndSaysWhy) {
  const SilentServer silent(SilentServer::Silence::from_the_start);
  const auto unreached = open_store(silent.store(), {.busy_timeout_ms = 1});
  EXPECT_EQ(code_of(unreached), ErrorCode::unavailable);
  EXPECT_THAT(message_of(unreached), HasSubstr("cannot be reached"));
  const SilentServer half(SilentServer::Silence::once_ready);
  const auto lost = open_store(half.store(), {.busy_timeout_ms = 1});
  EXPECT_EQ(code_of(lost), ErrorCode::unavailable);
  EXPECT_THAT(message_of(lost), HasSubstr("the server does not answer"));
}

}  // namespace
}  // namespace hocket
