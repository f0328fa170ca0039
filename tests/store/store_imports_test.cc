// Tests configurations that were found elsewhere, in every store.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "store/origin.h"
#include "store/starting_version.h"
#include "tests/store/faulty_store.h"
#include "tests/store/store_fixture.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StoreImports : public StoreFixture {
 protected:
  static NewImport import_of(int streams, const std::string& workload = "gpt2") {
    return {.topology = sample_topology(),
            .workload = sample_workload(workload),
            .config = {{"streams", streams}},
            .measured = MeasuredGain{8, 10, 0.2},
            .at_ns = 100 + streams,
            .digest = "digest " + std::to_string(streams),
            .provenance = {{"site", "a"}},
            .note = "site a"};
  }

  ImportOutcome import(const NewImport& one, bool is_dry_run = false) {
    return must(store_->import_configs({one}, "ada@b7", is_dry_run)).at(0);
  }

  static ConfigKey key(const NewImport& import) {
    return {fingerprint(import.topology), fingerprint(import.workload)};
  }

  nlohmann::json current(const NewImport& import) {
    const auto row = must(store_->current_promotion(key(import).topology, key(import).workload));
    return row ? row->config : nlohmann::json();
  }

  PromotionRow promote(int streams, PromotionOrigin origin,
                       PromotionStage stage = PromotionStage::released) {
    return must(store_->promote({.topology_id = must(store_->upsert_topology(sample_topology())),
                                 .workload_id = must(store_->upsert_workload(sample_workload())),
                                 .config = {{"streams", streams}},
                                 .origin = origin,
                                 .stage = stage}));
  }
};

TEST_F(StoreImports, AnEmptyStoreTakesThemOnceWithWhereTheyComeFrom) {
  const auto one = import_of(2);
  EXPECT_EQ(import(one).action, ImportAction::imported);
  const auto row = must(store_->promotions({.key = key(one)})).at(0);
  EXPECT_EQ(row.origin, PromotionOrigin::imported);
  EXPECT_EQ(row.stage, PromotionStage::released);
  EXPECT_EQ(row.actor, "ada@b7");
  EXPECT_EQ(row.measured, one.measured);
  EXPECT_EQ(row.provenance,
            nlohmann::json({{"site", "a"}, {"digest", "digest 2"}, {"at_ns", 102}}));
  EXPECT_THAT(must(origin_of(*store_, row)), HasSubstr("imported from site a, 1970-01-01"));
  EXPECT_EQ(import(one), (ImportOutcome{ImportAction::same, "", row.id}));
  EXPECT_THAT(must(store_->promotions({})), SizeIs(1));
  EXPECT_THAT(must(store_->audit({})), SizeIs(1));
  std::vector<std::string> passed_over;
  EXPECT_EQ(must(runnable_version(*store_, key(one), {}, passed_over))->row.id, row.id);
}

TEST_F(StoreImports, ADryRunSaysWhatWouldHappenAndChangesNothing) {
  EXPECT_EQ(import(import_of(2), true), (ImportOutcome{ImportAction::imported}));
  EXPECT_THAT(must(store_->topologies()), IsEmpty());
  EXPECT_THAT(must(store_->workloads("")), IsEmpty());
  import(import_of(2));
  EXPECT_EQ(import(import_of(3), true).action, ImportAction::imported);
  EXPECT_EQ(current(import_of(2)), nlohmann::json({{"streams", 2}}));
}

TEST_F(StoreImports, WhatWasFoundHereStays) {
  for (const auto origin : {PromotionOrigin::live, PromotionOrigin::push, PromotionOrigin::rollback,
                            PromotionOrigin::pin}) {
    promote(5, origin);
    const auto outcome = import(import_of(2));
    EXPECT_EQ(outcome.action, ImportAction::kept);
    EXPECT_THAT(outcome.why, HasSubstr("is its own (" + std::string(to_string(origin))));
    EXPECT_EQ(current(import_of(2)), nlohmann::json({{"streams", 5}}));
  }
  // So does that jobs keep their default, and what is being tried.
  const auto row = promote(5, PromotionOrigin::push);
  must(store_->promote({.topology_id = row.topology_id,
                        .workload_id = row.workload_id,
                        .config = nlohmann::json::object(),
                        .origin = PromotionOrigin::rollback}));
  EXPECT_THAT(import(import_of(2)).why, HasSubstr("their own default"));
}

TEST_F(StoreImports, WhatIsBeingTriedStays) {
  promote(5, PromotionOrigin::push, PromotionStage::staged);
  EXPECT_EQ(import(import_of(2)).why, "version 1 is being tried");
  must(store_->set_stage(1, PromotionStage::withdrawn, "daemon", "slower"));
  EXPECT_EQ(import(import_of(2)).action, ImportAction::imported);
}

TEST_F(StoreImports, ADefaultGivesWayToANewerOneAndToWhatIsFoundHere) {
  import(import_of(3));
  const auto older = import(import_of(2));
  EXPECT_EQ(older.action, ImportAction::kept);
  EXPECT_THAT(older.why, HasSubstr("is the newer default"));
  EXPECT_EQ(import(import_of(4)).action, ImportAction::imported);
  EXPECT_EQ(current(import_of(4)), nlohmann::json({{"streams", 4}}));
  promote(7, PromotionOrigin::live);
  EXPECT_EQ(current(import_of(4)), nlohmann::json({{"streams", 7}}));
  EXPECT_EQ(import(import_of(4)).action, ImportAction::kept);
  EXPECT_EQ(import(import_of(5)).action, ImportAction::kept);
}

TEST_F(StoreImports, WhatWasTakenBackHereDoesNotComeBack) {
  const auto first = import(import_of(2));
  must(store_->set_stage(first.version, PromotionStage::withdrawn, "daemon", "slower"));
  EXPECT_EQ(
      import(import_of(2)),
      (ImportOutcome{ImportAction::refused, "it was tried as version 1, which was withdrawn"}));
  const auto row = must(store_->promotions({})).at(0);
  must(store_->quarantine({row.topology_id, row.workload_id, {{"streams", 3}}, "it hangs", "ada"}));
  EXPECT_THAT(import(import_of(3)).why, HasSubstr("in quarantine: it hangs"));
  must(store_->set_key_state(row.topology_id, row.workload_id, {.pinned = true}, "ada"));
  EXPECT_THAT(import(import_of(4)).why, HasSubstr("pinned"));
  EXPECT_EQ(current(import_of(2)), nlohmann::json());
}

TEST_F(StoreImports, AllAreTakenOrNone) {
  auto wrong = import_of(3, "bert");
  wrong.config = {{"LD_PRELOAD", "x.so"}};
  EXPECT_THAT(message_of(store_->import_configs({import_of(2), wrong}, "ada", false)),
              HasSubstr("LD_PRELOAD"));
  wrong.config = nlohmann::json::array();
  EXPECT_THAT(message_of(store_->import_configs({import_of(2), wrong}, "ada", false)),
              HasSubstr("must be a JSON object"));
  EXPECT_THAT(must(store_->promotions({})), IsEmpty());
  EXPECT_THAT(must(store_->topologies()), IsEmpty());
  wrong.config = {{"streams", 3}};
  const auto both = must(store_->import_configs({import_of(2), wrong}, "ada", false));
  EXPECT_THAT(both, ElementsAre(testing::Field(&ImportOutcome::action, ImportAction::imported),
                                testing::Field(&ImportOutcome::action, ImportAction::imported)));
}

TEST_F(StoreImports, DeclaredParametersStayDeclared) {
  auto command = import_of(2);
  command.config = {{"BUCKET", 7}};
  EXPECT_FALSE(store_->import_configs({command}, "ada", false));
  command.declared = {
      {"parameters", {{{"name", "BUCKET"}, {"type", "int"}, {"low", 1}, {"high", 9}}}}};
  EXPECT_EQ(import(command).action, ImportAction::imported);
  EXPECT_EQ(must(store_->promotions({})).at(0).declared, command.declared);
}

}  // namespace
}  // namespace hocket
