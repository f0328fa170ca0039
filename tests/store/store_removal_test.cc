// Tests the removal of studies and of old audit entries from the store.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "store/sql/open_database.h"
#include "store/store.h"
#include "tests/store/fixtures.h"
#include "tests/store/store_fixture.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using StoreRemovalTest = StoreFixture;

TEST_F(StoreRemovalTest, RemovesAStudyWithItsTrialsAndKeepsItsVersions) {
  const auto study = new_study(), other = must(store_->create_study(sample_study("other")));
  const auto trial = new_trial(study.id), kept = new_trial(other.id);
  auto result = sample_result(5);
  result.output = {"out", "err"};
  must(store_->finish_trial(trial.id, result));
  must(store_->finish_trial(kept.id, result));
  const auto kept_trial = this->trial(kept);
  PromotionRow promoted =
      must(store_->promote({.topology_id = must(store_->upsert_topology(sample_topology())),
                            .workload_id = must(store_->upsert_workload(sample_workload())),
                            .study_id = study.id,
                            .config = {{"X", 1}},
                            .measured = MeasuredGain{3, 4, 0.25}}));

  must(store_->remove_study(study.id, study.owner, "ada@b7"));
  EXPECT_EQ(code_of(store_->study(study.name)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->trials(study.id, TrialDetail::summary)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->finish_trial(trial.id, result)), ErrorCode::not_found);
  EXPECT_EQ(must(store_->trial_output(trial.id)), std::nullopt);
  promoted.study_id.reset();
  promoted.removed_study = study.name;
  const auto topology = fingerprint(sample_topology()), workload = fingerprint(sample_workload());
  EXPECT_EQ(must(store_->current_promotion(topology, workload)), promoted);
  EXPECT_EQ(must(store_->promotions({})), std::vector{promoted});
  EXPECT_EQ(must(store_->studies()), std::vector{must(store_->study("other"))});
  EXPECT_EQ(this->trial(kept), kept_trial);
  EXPECT_TRUE(must(store_->trial_output(kept.id)));

  const auto entry = must(store_->audit({})).back();
  EXPECT_EQ(entry.actor, "ada@b7");
  EXPECT_EQ(entry.action, "remove_study");
  EXPECT_EQ(entry.subject, study.name);
  EXPECT_EQ(entry.detail, nlohmann::json({{"id", 1}, {"state", "running"}, {"trials", 1}}));
  EXPECT_TRUE(place_.check());
}

TEST_F(StoreRemovalTest, NamesOfRemovedStudiesCanBeUsedAgainAndIdsCannot) {
  const auto last = must(store_->create_study(sample_study("last")));
  must(store_->remove_study(last.id, last.owner, ""));
  const auto reopened = must(open_store(place_.store()));
  const auto again = must(reopened->create_study(sample_study("last")));
  EXPECT_EQ(again.id, last.id + 1);
  EXPECT_EQ(must(store_->study(std::to_string(again.id))).name, "last");
  EXPECT_EQ(code_of(store_->study(std::to_string(last.id))), ErrorCode::not_found);
  must(store_->remove_study(again.id, again.owner, ""));
  EXPECT_EQ(new_study().id, again.id + 1);
}

TEST_F(StoreRemovalTest, AStudyThatSomebodyHasTakenOverIsNotRemoved) {
  const auto study = new_study();
  must(store_->update_study(study.id, {.owner = "b"}));
  const auto late = store_->remove_study(study.id, study.owner, "ada");
  EXPECT_EQ(code_of(late), ErrorCode::unavailable);
  EXPECT_THAT(message_of(late), HasSubstr("taken over by \"b\""));
  EXPECT_EQ(code_of(store_->remove_study(99, "b", "ada")), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->remove_study(study.id, "b", "\xff")), ErrorCode::invalid_argument);
  EXPECT_EQ(must(store_->study(study.name)).owner, "b");
  EXPECT_TRUE(must(store_->audit({})).empty());
}

TEST_F(StoreRemovalTest, AuditEntriesFromBeforeATimeGo) {
  const auto ids = [&] {
    std::vector<std::int64_t> ids;
    for (const auto& row : must(store_->audit({}))) ids.push_back(row.id);
    return ids;
  };
  for (now_ns_ = 10; now_ns_ <= 40; now_ns_ += 10) must(store_->record_audit({"ada", "ping", "k"}));
  EXPECT_EQ(must(store_->prune_audit(10, "bob")), 0);
  EXPECT_THAT(ids(), ElementsAre(1, 2, 3, 4)) << "the entry of this time itself stays";
  EXPECT_EQ(must(store_->prune_audit(31, "bob")), 3);
  EXPECT_THAT(ids(), ElementsAre(4, 5));
  EXPECT_EQ(must(store_->audit({})).back(),
            (AuditRow{5, 50, "bob", "prune_audit", "", {{"entries", 3}, {"before_ns", 31}}}));
  EXPECT_EQ(code_of(store_->prune_audit(1'000, "\xff")), ErrorCode::invalid_argument);
  EXPECT_THAT(ids(), ElementsAre(4, 5));
  EXPECT_EQ(must(store_->prune_audit(1'000, "bob")), 2);
  const auto reopened = must(open_store(place_.store()));
  EXPECT_EQ(must(reopened->audit({})).back().id, 6) << "ids are not used again";
  EXPECT_TRUE(place_.check());
}

TEST_F(StoreRemovalTest, OneCallRemovesAtMostSoManyAuditEntries) {
  const auto database = must(sql::open_database(place_.store(), {}));
  must(database->begin(sql::Database::Access::write));
  const std::vector<std::vector<sql::Value>> entries(kMostPrunedAuditEntries + 3,
                                                     {std::int64_t{1}, "ada", "ping", "k", "{}"});
  must(database->change_each(
      "INSERT INTO audit (at_ns, actor, action, subject, detail) VALUES (?1, ?2, ?3, ?4, ?5)",
      entries));
  must(database->commit());
  EXPECT_EQ(must(store_->prune_audit(2, "bob")), kMostPrunedAuditEntries);
  EXPECT_EQ(must(store_->audit({})).front().id, kMostPrunedAuditEntries + 1) << "the oldest first";
  EXPECT_EQ(must(store_->prune_audit(2, "bob")), 3);
  EXPECT_EQ(must(store_->prune_audit(2, "bob")), 0);
  EXPECT_EQ(must(store_->audit({})).size(), 2u) << "an entry for each call that removed some";
}

}  // namespace
}  // namespace hocket
