#include "daemon/retention/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/store/faulty_store.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kDayNs = 24LL * 3600 * 1'000'000'000;

StudyRow study_row(std::int64_t id, std::int64_t day, StudyState state = StudyState::finished) {
  StudyRow row;
  row.id = id;
  row.name = "s" + std::to_string(id);
  row.state = state;
  row.created_at_ns = 0;
  row.updated_at_ns = day * kDayNs;
  return row;
}

std::vector<std::string> names_of(const std::vector<ExpiredStudy>& studies) {
  std::vector<std::string> names;
  for (const auto& study : studies) names.push_back(study.name);
  return names;
}

TEST(WhatToRemove, EndedStudiesThatHaveNotChangedForSoLong) {
  const RetentionRows rows{.studies = {study_row(1, 60), study_row(2, 5, StudyState::running),
                                       study_row(3, 7, StudyState::interrupted), study_row(4, 8),
                                       study_row(5, 10), study_row(6, 100)},
                           .used_studies = {4}};
  const auto decision = what_to_remove({.studies_ns = 90 * kDayNs}, rows, 100 * kDayNs);
  EXPECT_THAT(names_of(decision.studies), ElementsAre("s3")) << "90 days, but not more, is s5";
  EXPECT_EQ(decision.studies[0].reason, "it has not changed for 93 days");
  EXPECT_THAT(names_of(what_to_remove({.studies_ns = kDayNs}, rows, 100 * kDayNs).studies),
              ElementsAre("s3", "s5", "s1"))
      << "the oldest first";
  EXPECT_EQ(
      what_to_remove({.studies_ns = kDayNs / 24}, {.studies = {study_row(1, 0)}}, kDayNs / 24 + 1)
          .studies[0]
          .reason,
      "it has not changed for 1 hour");
}

TEST(WhatToRemove, NothingWithoutAPolicy) {
  const RetentionRows rows{.studies = {study_row(1, 0)},
                           .profiles = {{.id = 1, .name = "p", .bytes = 5}}};
  EXPECT_TRUE(RetentionPolicy{}.keeps_everything());
  EXPECT_FALSE(RetentionPolicy{.profiles = 0}.keeps_everything());
  const auto decision = what_to_remove({}, rows, 1'000 * kDayNs);
  EXPECT_THAT(decision.studies, IsEmpty());
  EXPECT_EQ(decision.audit_before_ns, std::nullopt);
  EXPECT_THAT(decision.profiles, IsEmpty());
}

TEST(WhatToRemove, ProfilesBeyondNumberAndBytesAndOlderAudit) {
  const RetentionRows rows{
      .profiles = {{.id = 1, .name = "kept", .created_at_ns = 1, .bytes = 5, .kept = true},
                   {.id = 2, .name = "old", .created_at_ns = 2, .bytes = 5},
                   {.id = 3, .name = "new", .created_at_ns = 3, .bytes = 5}}};
  const auto by_number = what_to_remove({.audit_ns = 3 * kDayNs, .profiles = 1}, rows, 5 * kDayNs);
  ASSERT_THAT(by_number.profiles, SizeIs(1));
  EXPECT_EQ(by_number.profiles[0].profile.name, "old");
  EXPECT_EQ(by_number.audit_before_ns, 2 * kDayNs);
  EXPECT_THAT(what_to_remove({.profile_bytes = 10}, rows, 5 * kDayNs).profiles, SizeIs(1));
  EXPECT_THAT(what_to_remove({.profile_bytes = 15}, rows, 5 * kDayNs).profiles, IsEmpty());
}

class RemoveExpired : public ::testing::Test {
 protected:
  StudyRow add_study(const std::string& name, StudyState state = StudyState::finished) {
    const auto study = must(store_->create_study(sample_study(name)));
    must(store_->update_study(study.id, {.state = state}));
    return must(store_->study(name));
  }

  PromotionRow promote(const StudyRow& study, PromotionStage stage = PromotionStage::released) {
    return must(store_->promote({.topology_id = must(store_->upsert_topology(sample_topology())),
                                 .workload_id = must(store_->upsert_workload(sample_workload())),
                                 .study_id = study.id,
                                 .config = {{"X", study.id}},
                                 .measured = MeasuredGain{3, 4, 0.25},
                                 .stage = stage}));
  }

  RetentionDecision decide(const RetentionPolicy& policy) {
    return what_to_remove(policy, must(retention_rows(*store_, policy)), now_ns_);
  }
  RetentionRemoval remove(const RetentionPolicy& policy) {
    return remove_expired(*store_, path_, decide(policy), "ada");
  }

  std::vector<std::string> actions() {
    std::vector<std::string> actions;
    for (const auto& row : must(store_->audit({}))) {
      if (row.actor == "ada") actions.push_back(row.action + " " + row.subject);
    }
    return actions;
  }

  std::int64_t now_ns_ = 1'000 * kDayNs;
  const TemporaryFolder folder_;
  const std::string path_ = folder_.file("store.db");
  const std::unique_ptr<Store> store_ =
      must(open_store(path_, {.now_unix_ns = [this] { return now_ns_; }}));
  const RetentionPolicy month_ = {.studies_ns = 30 * kDayNs, .audit_ns = 30 * kDayNs};
};

TEST_F(RemoveExpired, KeepsStudiesBehindVersionsInForceOrStaged) {
  const auto before = add_study("before"), current = add_study("current"),
             staged = add_study("staged");
  add_study("none");
  add_study("runs", StudyState::running);
  promote(before);
  promote(current);
  promote(staged, PromotionStage::staged);
  EXPECT_THAT(remove(month_).studies, IsEmpty());
  now_ns_ += 31 * kDayNs;
  const auto removal = remove({.studies_ns = 30 * kDayNs});
  EXPECT_THAT(names_of(removal.studies), ElementsAre("before", "none"));
  EXPECT_THAT(removal.notes, IsEmpty());
  EXPECT_FALSE(removal.error);
  EXPECT_THAT(actions(), ElementsAre("remove_study before", "remove_study none"));
  EXPECT_EQ(must(store_->studies()).size(), 3u);
  EXPECT_EQ(must(store_->promotions({})).size(), 3u) << "versions stay";
  EXPECT_THAT(remove({.studies_ns = 30 * kDayNs}).studies, IsEmpty());
}

TEST_F(RemoveExpired, AStudyThatIsResumedOrRemovedMeanwhileIsLeftOut) {
  const auto resumed = add_study("resumed", StudyState::interrupted), gone = add_study("gone");
  add_study("other");
  now_ns_ += 31 * kDayNs;
  const auto decision = decide(month_);
  ASSERT_THAT(decision.studies, SizeIs(3));
  must(store_->update_study(resumed.id, {.state = StudyState::running, .owner = "host:2"}));
  must(store_->remove_study(gone.id, gone.owner, "bob"));
  const auto removal = remove_expired(*store_, path_, decision, "ada");
  EXPECT_THAT(names_of(removal.studies), ElementsAre("other"));
  EXPECT_TRUE(store_->study("resumed"));
}

TEST_F(RemoveExpired, OldEntriesOfTheAuditGoInSeveralCalls) {
  for (int i = 0; i < 3; ++i) must(store_->record_audit({"bob", "ping", "k"}));
  now_ns_ += 31 * kDayNs;
  must(store_->record_audit({"bob", "ping", "new"}));
  const auto decision = decide({.audit_ns = 30 * kDayNs});
  EXPECT_EQ(must(count_audit(*store_, *decision.audit_before_ns)), 3);
  EXPECT_EQ(remove_expired(*store_, path_, decision, "ada").audit_entries, 3);
  EXPECT_EQ(must(count_audit(*store_, *decision.audit_before_ns)), 0);
  EXPECT_THAT(actions(), ElementsAre("prune_audit "));
  EXPECT_EQ(must(store_->audit({})).front().subject, "new");
}

TEST_F(RemoveExpired, ProfilesGoWithTheirTracesAndOneEntryOfTheAudit) {
  for (const std::string name : {"a", "b", "c"}) {
    const std::string trace = path_ + ".profiles/" + name + "/rank-0.sqlite";
    std::filesystem::create_directories(std::filesystem::path(trace).parent_path());
    write_bytes(trace, "12345");
    NewProfile profile{.name = name};
    profile.ranks = {{.rank = 0, .trace_path = trace}};
    const auto row = must(store_->add_profile(profile));
    if (name == "a") must(store_->keep_profile(row.id, true));
    now_ns_ += kDayNs;
  }
  const auto removal = remove({.profiles = 1});
  ASSERT_THAT(removal.profiles.removed, SizeIs(1));
  EXPECT_EQ(removal.profiles.removed[0].profile.name, "b");
  EXPECT_FALSE(std::filesystem::exists(path_ + ".profiles/b"));
  EXPECT_TRUE(std::filesystem::exists(path_ + ".profiles/a/rank-0.sqlite"));
  const auto entry = must(store_->audit({})).back();
  EXPECT_EQ(entry.action, "prune_profiles");
  EXPECT_EQ(entry.detail, nlohmann::json({{"profiles", {"b"}}, {"freed_bytes", 5}}));
  remove({.profiles = 1});
  EXPECT_THAT(actions(), SizeIs(1)) << "nothing removed, nothing said";
}

TEST_F(RemoveExpired, AnErrorOfTheStoreEndsItAndWhatWasDoneIsKnown) {
  add_study("a");
  add_study("b");
  now_ns_ += 31 * kDayNs;
  const auto decision = decide(month_);
  FaultyStore faulty(*store_, 3);  // reads a, removes it, reads b
  const auto removal = remove_expired(faulty, path_, decision, "ada");
  ASSERT_TRUE(removal.error);
  EXPECT_EQ(*removal.error, FaultyStore::fault());
  EXPECT_THAT(names_of(removal.studies), ElementsAre("a"));
  FaultyStore refusing(*store_, 3);  // misses a, reads b, does not remove it, reads it again
  const auto refused = remove_expired(refusing, path_, decision, "ada");
  EXPECT_FALSE(refused.error);
  EXPECT_THAT(refused.notes,
              ElementsAre(AllOf(HasSubstr("study b stays"), HasSubstr("disk full"))));
}

TEST_F(RemoveExpired, EndsEarlyWhenItShallStop) {
  add_study("a");
  must(store_->record_audit({"bob", "ping", "k"}));
  now_ns_ += 31 * kDayNs;
  std::stop_source source;
  source.request_stop();
  const auto removal = remove_expired(*store_, path_, decide(month_), "ada", source.get_token());
  EXPECT_THAT(removal.studies, IsEmpty());
  EXPECT_EQ(removal.audit_entries, 0);
}

}  // namespace
}  // namespace hocket
