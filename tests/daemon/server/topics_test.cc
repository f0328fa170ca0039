#include "daemon/server/topics.h"

#include <gtest/gtest.h>

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace hocket {
namespace {

struct CountingWatcher final : TopicWatcher {
  void moved_on() override { ++calls; }
  int calls = 0;
};

struct TopicsTest : ::testing::Test {
  void publish(const std::string& topic, std::int64_t id) {
    feed.publish(topic, FeedEvent{id, "config", "x"});
    topics.published(topic);
  }

  Feed feed;
  WatchedTopics topics{feed};
};

std::string text_of(std::int64_t id) {
  return "id: " + std::to_string(id) + "\nevent: config\ndata: x\n\n";
}

std::string text(const WatchedTopics::Membership& membership) {
  const auto& text = membership.topic().text;
  return text ? *text : "none";
}

TEST_F(TopicsTest, AMemberSeesWhatWasPublishedBeforeIt) {
  publish("a", 1);
  publish("a", 2);
  CountingWatcher watcher;
  const WatchedTopics::Membership present(topics, "a", watcher), none(topics, "b", watcher);
  EXPECT_EQ(present.topic().sequence, feed.position("a").sequence);
  EXPECT_EQ(text(present), text_of(2));
  EXPECT_EQ(none.topic().sequence, 0u);
  EXPECT_EQ(none.topic().text, nullptr);
  EXPECT_EQ(watcher.calls, 0);
}

TEST_F(TopicsTest, TheFeedKnowsWhichTopicsAreWatched) {
  CountingWatcher watcher;
  EXPECT_FALSE(feed.is_watched("a"));
  {
    const WatchedTopics::Membership first(topics, "a", watcher);
    { const WatchedTopics::Membership second(topics, "a", watcher); }
    EXPECT_TRUE(feed.is_watched("a"));
    EXPECT_FALSE(feed.is_watched("b"));
  }
  EXPECT_FALSE(feed.is_watched("a"));
}

TEST_F(TopicsTest, AnEventIsFormattedOnceAndStaysWhileItIsWritten) {
  CountingWatcher watcher;
  const WatchedTopics::Membership first(topics, "a", watcher);
  publish("a", 1);
  const std::shared_ptr<const std::string> written = first.topic().text;
  const WatchedTopics::Membership second(topics, "a", watcher);
  topics.published("a");
  EXPECT_EQ(second.topic().text, written);
  publish("a", 2);
  EXPECT_EQ(text(second), text_of(2));
  EXPECT_EQ(*written, text_of(1));
}

TEST_F(TopicsTest, AWatcherMayBeInOneTopicTwice) {
  CountingWatcher watcher;
  std::optional<WatchedTopics::Membership> first(std::in_place, topics, "a", watcher);
  const WatchedTopics::Membership second(topics, "a", watcher);
  publish("a", 1);
  EXPECT_EQ(watcher.calls, 2);
  first.reset();
  publish("a", 2);
  EXPECT_EQ(watcher.calls, 3);
}

// Only members of a topic are notified of its events, in any order of joining and leaving.
TEST_F(TopicsTest, TellsTheMembersOfATopicAndNobodyElse) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::vector<std::string> names = {"a", "b", "c"};
    struct Member {
      std::string name;
      std::unique_ptr<CountingWatcher> watcher;
      WatchedTopics::Membership membership;
      int expected = 0;
    };
    std::list<Member> members;
    std::map<std::string, std::int64_t> newest;
    for (int step = 0; step < 200; ++step) {
      const std::string& name = names[random() % names.size()];
      const auto kind = random() % 4;
      if (kind == 0) {
        auto watcher = std::make_unique<CountingWatcher>();
        WatchedTopics::Membership membership(topics, name, *watcher);
        members.push_back({name, std::move(watcher), std::move(membership)});
      } else if (kind == 1 && !members.empty()) {
        members.erase(std::next(members.begin(), random() % members.size()));
      } else {
        publish(name, step);
        newest[name] = step;
        for (Member& member : members) member.expected += member.name == name;
      }
      for (const Member& member : members) {
        ASSERT_EQ(member.watcher->calls, member.expected);
        ASSERT_EQ(member.membership.topic().sequence, feed.position(member.name).sequence);
        if (newest.contains(member.name)) {
          ASSERT_EQ(text(member.membership), text_of(newest[member.name]));
        }
      }
    }
    members.clear();
    for (const std::string& name : names) feed.forget(name);
  }
}

}  // namespace
}  // namespace hocket
