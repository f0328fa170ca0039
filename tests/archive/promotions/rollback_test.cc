#include "archive/promotions/rollback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/open.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

class RollbackTest : public ::testing::Test {
 protected:
  std::int64_t push(int streams, PromotionStage stage = PromotionStage::released) {
    return store_
        ->promote({.topology_id = topology_id_,
                   .workload_id = workload_id_,
                   .config = {{"streams", streams}},
                   .origin = PromotionOrigin::push,
                   .stage = stage})
        ->id;
  }

  Result<PromotionRow> back(const RollbackTarget& target) {
    return roll_back(*store_, key_, target, "ada@b7", "why");
  }

  nlohmann::json current() {
    const auto row = store_->current_promotion(key_.topology, key_.workload);
    return *row ? (*row)->config : nlohmann::json();
  }

  PromotionStage stage_of(std::int64_t version) {
    const auto rows = store_->promotions({});
    for (const auto& row : *rows) {
      if (row.id == version) return row.stage;
    }
    return PromotionStage::held;
  }

  std::unique_ptr<Store> store_ = open_store_in_memory();
  const Topology topology_;
  const Workload workload_{"w", {{"t", 4}}};
  const std::int64_t topology_id_ = *store_->upsert_topology(topology_);
  const std::int64_t workload_id_ = *store_->upsert_workload(workload_);
  const ConfigKey key_{fingerprint(topology_), fingerprint(workload_)};
};

TEST_F(RollbackTest, ThePreviousVersionComesBackAndThenNone) {
  push(1);
  const auto second = push(2);
  const auto first_again = back(PreviousVersion{});
  EXPECT_EQ(current(), nlohmann::json({{"streams", 1}}));
  EXPECT_EQ(stage_of(second), PromotionStage::withdrawn);
  EXPECT_EQ(first_again->actor, "ada@b7");
  EXPECT_THAT(first_again->note, HasSubstr("from version 2: why"));
  const auto none = back(PreviousVersion{});
  ASSERT_TRUE(none);
  EXPECT_EQ(current(), nlohmann::json::object());
  const auto again = back(PreviousVersion{});
  ASSERT_FALSE(again) << "there is nothing before";
  EXPECT_EQ(again.error().code, ErrorCode::not_found);
  EXPECT_THAT(again.error().message, HasSubstr("at its default already, by version 4"));
}

TEST_F(RollbackTest, ToTheDefaultIsAVersionWithoutConfiguration) {
  push(1);
  const auto staged = push(2, PromotionStage::staged);
  const auto version = back(NoConfiguration{});
  ASSERT_TRUE(version) << version.error().message;
  EXPECT_TRUE(is_default(*version));
  EXPECT_EQ(version->stage, PromotionStage::released);
  EXPECT_EQ(stage_of(staged), PromotionStage::withdrawn) << "a running job could still take it";
  EXPECT_EQ(current(), nlohmann::json::object());
  // Once more changes nothing.
  EXPECT_EQ(back(NoConfiguration{})->id, version->id);
  // A later version counts again.
  push(3);
  EXPECT_EQ(current(), nlohmann::json({{"streams", 3}}));
}

TEST_F(RollbackTest, AnyVersionComesBackByItsNumber) {
  const auto first = push(1);
  push(2);
  const auto again = back(NumberedVersion{first});
  EXPECT_GT(again->id, 2);
  EXPECT_EQ(current(), nlohmann::json({{"streams", 1}}));
  EXPECT_THAT(back(NumberedVersion{99}).error().message, HasSubstr("no version 99"));
}

TEST_F(RollbackTest, WithoutAVersionThereIsNothingToGoBackFrom) {
  EXPECT_EQ(back(PreviousVersion{}).error().code, ErrorCode::not_found);
  EXPECT_EQ(back(NoConfiguration{}).error().code, ErrorCode::not_found);
  EXPECT_EQ(roll_back(*store_, {"a", "b"}, NoConfiguration{}, "", "").error().code,
            ErrorCode::not_found);
}

TEST(RollbackTarget, IsParsed) {
  EXPECT_TRUE(std::holds_alternative<PreviousVersion>(*parse_rollback_target("")));
  EXPECT_TRUE(std::holds_alternative<NoConfiguration>(*parse_rollback_target("default")));
  EXPECT_EQ(std::get<NumberedVersion>(*parse_rollback_target("12")), 12);
  for (const char* text : {"0", "-1", "1x", "none", " 1"})
    EXPECT_FALSE(parse_rollback_target(text)) << text;
}

TEST_F(RollbackTest, APlanIsWhatTheRollbackThenDoes) {
  push(1);
  push(2);
  push(2);
  push(3, PromotionStage::staged);
  const RollbackTarget targets[] = {PreviousVersion{}, PreviousVersion{}, NumberedVersion{2},
                                    PreviousVersion{}, NoConfiguration{}};
  for (const RollbackTarget& target : targets) {
    const auto entries = store_->audit({})->size();
    const auto plan = must(plan_rollback(*store_, key_, target));
    EXPECT_EQ(store_->audit({})->size(), entries);
    const auto row = must(back(target));
    EXPECT_EQ(current(), plan.config);
    EXPECT_TRUE(row.note.starts_with(plan.reason)) << row.note;
    for (const std::int64_t version : plan.withdrawn)
      EXPECT_EQ(stage_of(version), PromotionStage::withdrawn) << version;
  }
  EXPECT_TRUE(must(plan_rollback(*store_, key_, NoConfiguration{})).is_there);
  EXPECT_EQ(code_of(plan_rollback(*store_, key_, PreviousVersion{})), ErrorCode::not_found);
}

}  // namespace
}  // namespace hocket
