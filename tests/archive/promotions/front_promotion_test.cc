#include "archive/promotions/front_promotion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "archive/promotions/program_promotion.h"
#include "store/open.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

FrontPoint front_point_at(std::int64_t number, std::int64_t x) {
  return {.number = number - 1,
          .measured = {{{"X", x}}, 1.0 * static_cast<double>(x), 0, {5}, {0}}};
}

StudyResult some_front() {
  StudyResult result;
  result.default_params = {{{"X", std::int64_t{4}}}, 4};
  result.front = {front_point_at(1, 4), front_point_at(3, 8), front_point_at(7, 2)};
  result.best = result.front.front().measured;
  return result;
}

std::string refusal(const StudyResult& result, std::int64_t number) {
  const auto point = front_point(result, number);
  return point ? "" : point.error().message;
}

TEST(FrontPromotion, FindsAPointByTheNumberThatIsListed) {
  const auto point = front_point(some_front(), 7);
  ASSERT_TRUE(point) << point.error().message;
  EXPECT_EQ(point->measured.params, (Params{{"X", std::int64_t{2}}}));
  EXPECT_EQ(refusal(some_front(), 2), "trial 2 is not on the front; the trials on it are 3, 7");
  EXPECT_THAT(refusal(some_front(), 1), HasSubstr("trial 1 is the default"));
  StudyResult single = some_front();
  single.front.clear();
  EXPECT_THAT(refusal(single, 3), HasSubstr("it has no front"));
}

TEST(FrontPromotion, IsAVersionOfTheStudyWithoutAGain) {
  const auto store = open_store_in_memory();
  NewStudy wanted = sample_study("s");
  wanted.topology_id = must(store->upsert_topology({}));
  wanted.workload_id = must(store->upsert_workload(sample_workload("work")));
  const auto study = must(store->create_study(wanted));
  const auto version =
      must(promote_front_point(*store, study, *front_point(some_front(), 7), "me@here"));
  EXPECT_EQ(version.config, nlohmann::json({{"X", 2}}));
  EXPECT_EQ(version.stage, PromotionStage::released);
  EXPECT_EQ(version.origin, PromotionOrigin::study);
  EXPECT_FALSE(version.measured);
  EXPECT_EQ(version.actor, "me@here");
  EXPECT_THAT(version.note, HasSubstr("trial 7 of the front"));
  EXPECT_EQ(must(promotion_of_study(*store, "s")).promotion.id, version.id);
  EXPECT_FALSE(promote_front_point(*store, StudyRow{}, *front_point(some_front(), 7), "me"));
}

}  // namespace
}  // namespace hocket
