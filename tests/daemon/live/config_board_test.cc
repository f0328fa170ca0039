#include "daemon/live/config_board.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <thread>
#include <vector>

#include "daemon/live/live_dependencies.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

class ConfigBoardTest : public testing::Test {
 protected:
  ConfigBoardTest() {
    must(store_->upsert_topology(sample_topology()));
    must(store_->upsert_workload(sample_workload()));
  }

  std::int64_t promote() {
    return must(store_->promote({.topology_id = 1,
                                 .workload_id = 1,
                                 .config = to_json(ScheduleConfig{}),
                                 .origin = PromotionOrigin::push,
                                 .actor = "ada"}))
        .id;
  }

  const ConfigKey key_{fingerprint(sample_topology()), fingerprint(sample_workload())};
  std::unique_ptr<Store> store_ = open_store_in_memory([] { return std::int64_t{1'000}; });
  Feed feed_;
  ConfigBoard board_{*store_, feed_};
};

TEST_F(ConfigBoardTest, ShowsWhatTheStoreHadAtTheLastLook) {
  EXPECT_EQ(must(board_.find(key_)), nullptr);
  const auto first = promote();
  const auto entry = must(board_.find(key_));
  EXPECT_EQ(entry->version, first);
  EXPECT_EQ(entry->etag, "\"" + std::to_string(first) + "\"");
  const auto body = nlohmann::json::parse(*entry->body);
  EXPECT_EQ(body["origin"], "push by ada, 1970-01-01");
  EXPECT_EQ(body["version"], first);
  const auto second = promote();
  EXPECT_EQ(must(board_.find(key_))->version, first);
  EXPECT_EQ(must(board_.refresh(key_))->version, second);
  EXPECT_EQ(board_.cached(to_string(key_))->version, second);
}

TEST_F(ConfigBoardTest, JobsTakeAtOnceWhatAnOperatorDecided) {
  const auto body_of = [&](PromotionOrigin origin, const std::string& actor,
                           const nlohmann::json& config) {
    must(store_->promote(
        {.topology_id = 1, .workload_id = 1, .config = config, .origin = origin, .actor = actor}));
    return nlohmann::json::parse(*must(board_.refresh(key_))->body);
  };
  const auto config = to_json(ScheduleConfig{});
  EXPECT_FALSE(body_of(PromotionOrigin::push, "ada", config).contains("at_once"));
  EXPECT_EQ(body_of(PromotionOrigin::pin, "ada", config)["at_once"], true);
  EXPECT_EQ(body_of(PromotionOrigin::rollback, "ada", config)["at_once"], true);
  EXPECT_FALSE(body_of(PromotionOrigin::rollback, kDaemonActor, config).contains("at_once"));
  // A key without configuration stands for the scheduler's default.
  const auto body = body_of(PromotionOrigin::rollback, "ada", nlohmann::json::object());
  EXPECT_EQ(body["config"], config);
  EXPECT_EQ(body["setting"], nlohmann::json::object());
}

TEST_F(ConfigBoardTest, TellsOfAVersionOnce) {
  const std::string topic = ConfigBoard::topic(to_string(key_));
  board_.publish(key_);
  EXPECT_EQ(feed_.position(topic).sequence, 0u);
  const auto version = promote();
  must(board_.refresh(key_));
  board_.publish(key_);
  const auto position = feed_.position(topic);
  EXPECT_EQ(position.newest->id, version);
  board_.publish(key_);
  EXPECT_EQ(feed_.position(topic).sequence, position.sequence);
}

TEST_F(ConfigBoardTest, EvictsTheLeastRecentlyUsedWhenFull) {
  ConfigBoard board(*store_, feed_, {.board_entries = 2});
  std::vector<ConfigKey> keys;
  for (const int world_size : {2, 4, 8}) {
    const auto topology = sample_topology(world_size);
    must(store_->promote({.topology_id = must(store_->upsert_topology(topology)),
                          .workload_id = 1,
                          .config = to_json(ScheduleConfig{}),
                          .origin = PromotionOrigin::push,
                          .actor = "ada"}));
    keys.push_back({fingerprint(topology), key_.workload});
  }
  EXPECT_NE(must(board.find(keys[0])), nullptr);
  EXPECT_NE(must(board.find(keys[1])), nullptr);
  EXPECT_NE(board.cached(to_string(keys[0])), nullptr);
  EXPECT_NE(must(board.find(keys[2])), nullptr);
  EXPECT_EQ(board.size(), 2u);
  EXPECT_NE(board.cached(to_string(keys[0])), nullptr);
  EXPECT_EQ(board.cached(to_string(keys[1])), nullptr);
  EXPECT_NE(must(board.find(keys[1])), nullptr) << "it is read again";
}

TEST_F(ConfigBoardTest, LooksAtTheSameTimeNeverBringBackTheOlder) {
  promote();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      std::int64_t newest = 0;
      for (int look = 0; look < 300; ++look) {
        if (look % 10 == 0) promote();
        must(board_.refresh(key_));
        const auto version = board_.cached(to_string(key_))->version;
        EXPECT_GE(version, newest);
        newest = version;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(board_.cached(to_string(key_))->version, must(store_->promotions({})).back().id);
}

}  // namespace
}  // namespace hocket
