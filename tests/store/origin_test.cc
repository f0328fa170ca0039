#include "store/origin.h"

#include "tests/store/store_fixture.h"

namespace hocket {
namespace {

class OriginTest : public StoreFixture {
 protected:
  PromotionRow promote(PromotionOrigin origin, std::optional<std::int64_t> study_id = {}) {
    return must(store_->promote({.topology_id = must(store_->upsert_topology(sample_topology())),
                                 .workload_id = must(store_->upsert_workload(sample_workload())),
                                 .study_id = study_id,
                                 .config = {{"streams", 1}},
                                 .origin = origin,
                                 .actor = "ada@b7"}));
  }
};

TEST_F(OriginTest, NamesTheStudyAndThePerson) {
  const auto study = must(store_->create_study(sample_study("sweep")));
  EXPECT_EQ(must(origin_of(*store_, promote(PromotionOrigin::study, study.id))),
            "study sweep, 1970-01-01");
  EXPECT_EQ(must(origin_of(*store_, promote(PromotionOrigin::live, study.id))),
            "live tuning, 1970-01-01");
  const auto pushed = promote(PromotionOrigin::push);
  EXPECT_EQ(must(origin_of(*store_, pushed)), "push by ada@b7, 1970-01-01");
  EXPECT_EQ(must(study_name(*store_, pushed)), "");
}

TEST_F(OriginTest, NamesAStudyThatWasRemoved) {
  const auto study = must(store_->create_study(sample_study("sweep")));
  promote(PromotionOrigin::study, study.id);
  promote(PromotionOrigin::live, study.id);
  const auto read_before = must(store_->promotions({})).front();
  must(store_->remove_study(study.id, study.owner, "ada@b7"));
  EXPECT_EQ(must(origin_of(*store_, read_before)), "study, 1970-01-01");
  const auto versions = must(store_->promotions({}));
  EXPECT_EQ(must(origin_of(*store_, versions.at(0))), "study sweep (removed), 1970-01-01");
  EXPECT_EQ(must(origin_of(*store_, versions.at(1))), "live tuning, 1970-01-01");
  EXPECT_EQ(must(study_name(*store_, versions.at(1))), "sweep");
}

}  // namespace
}  // namespace hocket
