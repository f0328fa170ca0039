#include "tests/store/faulty_store.h"

#include <gtest/gtest.h>

#include "tests/store/fixtures.h"

namespace hocket {
namespace {

TEST(FaultyStore, FailsTheNthCallAndDoesNotMakeIt) {
  const auto inner = open_store_in_memory();
  FaultyStore store(*inner, 2);
  EXPECT_TRUE(store.create_study(sample_study("a")));
  const auto failed = store.create_study(sample_study("b"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error(), FaultyStore::fault());
  EXPECT_TRUE(store.create_study(sample_study("c")));
  EXPECT_EQ(must(inner->studies()).size(), 2u);
  EXPECT_EQ(code_of(inner->study("b")), ErrorCode::not_found);
}

TEST(FaultyStore, MakesTheNthCallOfWhichTheAnswerIsLost) {
  const auto inner = open_store_in_memory();
  FaultyStore store(*inner, 2, FaultKind::lost_answer);
  EXPECT_TRUE(store.create_study(sample_study("a")));
  EXPECT_FALSE(store.has_failed());
  EXPECT_EQ(store.create_study(sample_study("b")).error(), FaultyStore::fault());
  EXPECT_TRUE(store.has_failed());
  EXPECT_TRUE(inner->study("b"));
  EXPECT_TRUE(store.create_study(sample_study("c")));
}

TEST(FaultyStore, CountsStartedTrialsAloneIfItShall) {
  const auto inner = open_store_in_memory();
  FaultyStore store(*inner, 2, FaultKind::lost_answer);
  store.count_started_trials();
  const auto study = must(store.create_study(sample_study("a")));
  must(store.start_trial({.study_id = study.id}));
  EXPECT_EQ(must(store.studies()).size(), 1u);
  EXPECT_FALSE(store.start_trial({.study_id = study.id}));
  EXPECT_EQ(must(inner->trials(study.id, TrialDetail::summary)).size(), 2u);
}

}  // namespace
}  // namespace hocket
