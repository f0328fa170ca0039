#include "daemon/api/changes.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/daemon/assembled.h"

namespace hocket {
namespace {

class ChangesTest : public ::testing::Test {
 protected:
  std::uint64_t position() const { return daemon_.feed.position("changes").sequence; }
  nlohmann::json newest() const {
    return nlohmann::json::parse(daemon_.feed.position("changes").newest->data);
  }

  SetClock clock_;
  std::unique_ptr<Store> store_ = open_store_in_memory([this] { return clock_.now; });
  Assembled daemon_{*store_, clock_};
};

TEST_F(ChangesTest, AnEventComesOnlyAfterAChange) {
  daemon_.changes.look();
  const auto first = position();
  const auto before = newest();
  EXPECT_EQ(before.size(), 3U);
  daemon_.changes.look();
  EXPECT_EQ(position(), first);

  daemon_.ask("POST", "/v1/jobs", to_json(sample_job("a")));
  daemon_.changes.look();
  const auto entered = newest();
  EXPECT_NE(entered["jobs"], before["jobs"]);
  EXPECT_EQ(entered["page"], before["page"]);

  daemon_.ask("POST", "/v1/reports", to_json(JobReport{.job = "a", .iteration_ns = {1}}));
  daemon_.changes.look();
  EXPECT_NE(newest()["jobs"], entered["jobs"]);
  const auto reported = newest();

  ASSERT_TRUE(store_->record_audit({.actor = "ada", .action = "push", .subject = "k"}));
  daemon_.changes.look();
  EXPECT_NE(newest()["store"], reported["store"]);
  EXPECT_EQ(newest()["jobs"], reported["jobs"]);
}

TEST_F(ChangesTest, AStreamBeginsWithTheNewest) {
  auto reply = daemon_.reply({.method = "GET", .target = "/v1/changes"});
  const auto* stream = std::get_if<EventStream>(&reply);
  ASSERT_NE(stream, nullptr);
  ASSERT_EQ(stream->topics.size(), 1U);
  EXPECT_LT(stream->topics[0].seen, position());
  EXPECT_EQ(stream->hold, nullptr);
}

}  // namespace
}  // namespace hocket
