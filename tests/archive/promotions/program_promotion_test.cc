#include "archive/promotions/program_promotion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "archive/promotions/rollback.h"
#include "archive/studies/plain_job.h"
#include "store/open.h"
#include "tuner/space/parameter_syntax.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

class ProgramPromotionTest : public ::testing::Test {
 protected:
  /// Promotes {"X": value} for a study of `command` whose workload is stored as `workload`.
  PromotionRow promote(const Words& command, const Workload& workload, int value,
                       const Topology& topology = {}) {
    const auto topology_id = *store_->upsert_topology(topology);
    const auto workload_id = *store_->upsert_workload(workload);
    NewStudy study;
    study.command = command;
    study.definition = to_json(StudyDefinition{.space = space_,
                                               .objective = *parse_objective("wall"),
                                               .working_directory = "/no-such-folder"});
    study.topology_id = topology_id;
    study.workload_id = workload_id;
    return *store_->promote({.topology_id = topology_id,
                             .workload_id = workload_id,
                             .study_id = store_->create_study(study)->id,
                             .config = {{"X", value}}});
  }

  Workload workload(const Words& command) const {
    return plain_workload(command, "/no-such-folder", space_);
  }

  std::vector<int> values(const Words& command) {
    const Topology host;
    const auto promotions = promotions_of_program(*store_, command, "/no-such-folder", &host);
    std::vector<int> found;
    for (const auto& each : *promotions) found.push_back(each.promotion.config.at("X").get<int>());
    return found;
  }

  std::unique_ptr<Store> store_ = open_store_in_memory();
  const Space space_ = *Space::make({*parse_parameter("X=int:1..9")});
  const Words train_ = {"python3", "train.py"}, other_ = {"python3", "other.py"};
};

TEST_F(ProgramPromotionTest, EachScriptHasItsOwn) {
  promote(train_, workload(train_), 1);
  promote(other_, workload(other_), 2);
  EXPECT_EQ(values(train_), std::vector<int>{1});
  EXPECT_EQ(values({"torchrun", "--nproc-per-node", "2", "train.py", "--lr", "3"}),
            std::vector<int>{1});
  EXPECT_EQ(values(other_), std::vector<int>{2});
  EXPECT_EQ(values({"python3", "third.py"}), std::vector<int>{});
  promote(train_, workload(train_), 3);
  EXPECT_EQ(values(train_), std::vector<int>{3});
}

TEST_F(ProgramPromotionTest, OtherHardwareIsLeftOut) {
  Topology big;
  big.cores = 64;
  promote(train_, workload(train_), 1, big);
  EXPECT_EQ(values(train_), std::vector<int>{});
}

TEST_F(ProgramPromotionTest, WhatAnEarlierVersionPromotedCountsByItsCommand) {
  const Workload python{.name = "python3"};
  promote(train_, python, 1);
  promote(other_, python, 2);  // which is the current version of the key that they shared
  EXPECT_EQ(values(train_), std::vector<int>{1});
  EXPECT_EQ(values(other_), std::vector<int>{2});
  promote(train_, workload(train_), 3);
  EXPECT_EQ(values(train_), std::vector<int>{3});
}

TEST_F(ProgramPromotionTest, TheDefaultHidesWhatWasBefore) {
  const Workload python{.name = "python3"};
  promote(train_, python, 1);
  promote(train_, workload(train_), 2);
  const std::string place = fingerprint(Topology{});
  ASSERT_TRUE(
      roll_back(*store_, {place, fingerprint(workload(train_))}, NoConfiguration{}, "", ""));
  EXPECT_EQ(values(train_), std::vector<int>{});
  promote(other_, python, 3);
  ASSERT_TRUE(roll_back(*store_, {place, fingerprint(python)}, NoConfiguration{}, "", ""));
  EXPECT_EQ(values(other_), std::vector<int>{});
}

TEST_F(ProgramPromotionTest, AStudysOwnIsFoundUnlessItWasWithdrawn) {
  const auto row = promote(train_, workload(train_), 1);
  promote(train_, workload(train_), 2);
  const auto name = store_->study(std::to_string(*row.study_id))->name;
  EXPECT_EQ(promotion_of_study(*store_, name)->promotion.config.at("X"), 1);
  ASSERT_TRUE(store_->set_stage(row.id, PromotionStage::withdrawn, "", ""));
  EXPECT_THAT(promotion_of_study(*store_, name).error().message, HasSubstr("promoted nothing"));
  EXPECT_EQ(promotion_of_study(*store_, "none").error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace hocket
