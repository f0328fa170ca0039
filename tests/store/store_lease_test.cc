// Tests trials that workers hold on lease.

#include <gmock/gmock.h>

#include "tests/store/store_fixture.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using StoreLease = StoreFixture;

TEST_F(StoreLease, ATrialKeepsItsWorkerAndLease) {
  const auto study = new_study();
  const auto leased = must(store_->start_trial({study.id, {}, {{"x", 1}}, "host-a:7", 1'000}));
  EXPECT_EQ(leased.worker, "host-a:7");
  EXPECT_EQ(leased.lease_until_ns, 2'000);
  const auto own = new_trial(study.id);
  EXPECT_EQ(own.worker, "");
  EXPECT_EQ(own.lease_until_ns, std::nullopt);
  EXPECT_EQ(trial(leased), leased);
  must(store_->finish_trial(leased.id, sample_result(1)));
  EXPECT_EQ(trial(leased).worker, "host-a:7");
  EXPECT_THAT(message_of(store_->start_trial({study.id, {}, {{"x", 1}}, "\xff"})),
              HasSubstr("worker's name"));
}

TEST_F(StoreLease, OnlyWhatHasPassedExpires) {
  const auto study = new_study(), other = new_study();
  const auto start = [&](const StudyRow& of, std::optional<std::int64_t> lease_ns) {
    return must(store_->start_trial({of.id, {}, {{"x", 1}}, "w", lease_ns}));
  };
  const auto passed = start(study, 99), now = start(study, 100), later = start(study, 101);
  const auto unleased = start(study, std::nullopt), ended = start(study, 1);
  const auto elsewhere = start(other, 1);
  must(store_->finish_trial(ended.id, sample_result(1)));
  now_ns_ += 98;
  EXPECT_EQ(must(store_->expire_leases(study.id)), 0);
  EXPECT_EQ(must(store_->study(study.name)).updated_at_ns, 1'000) << "nothing has changed";
  now_ns_ += 2;
  EXPECT_EQ(must(store_->expire_leases(study.id)), 2);
  EXPECT_EQ(must(store_->study(study.name)).updated_at_ns, now_ns_);
  EXPECT_EQ(must(store_->expire_leases(study.id)), 0);
  std::vector<std::int64_t> left;
  for (const auto& row : must(store_->trials(study.id, TrialDetail::summary))) {
    left.push_back(row.id);
  }
  EXPECT_THAT(left, ElementsAre(later.id, unleased.id, ended.id));
  EXPECT_EQ(must(store_->trials(other.id, TrialDetail::summary)).size(), 1u);
  EXPECT_EQ(code_of(store_->finish_trial(passed.id, sample_result(1))), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->expire_leases(77)), ErrorCode::not_found);
}

TEST_F(StoreLease, ARenewedLeaseLastsLonger) {
  const auto study = new_study();
  const auto row = must(store_->start_trial({study.id, {}, {{"x", 1}}, "w", 100}));
  now_ns_ += 50;
  EXPECT_EQ(must(store_->renew_lease(row.id, 200)), now_ns_ + 200);
  now_ns_ += 199;
  EXPECT_EQ(must(store_->expire_leases(study.id)), 0);
  EXPECT_EQ(trial(row).lease_until_ns, now_ns_ + 1);
  must(store_->finish_trial(row.id, sample_result(1)));
  const auto late = store_->renew_lease(row.id, 300);
  EXPECT_EQ(code_of(late), ErrorCode::invalid_argument);
  EXPECT_THAT(message_of(late), HasSubstr("has already ended as complete"));
  const auto gone = new_trial(study.id);
  must(store_->abandon_running_trials(study.id));
  EXPECT_EQ(code_of(store_->renew_lease(gone.id, 300)), ErrorCode::not_found);
}

TEST_F(StoreLease, NumbersStayUniqueWhenLeasesInTheMiddleExpire) {
  const auto study = new_study();
  for (int i = 1; i <= 4; ++i) {
    must(store_->start_trial({study.id, {}, {{"x", i}}, "w", i == 2 ? 1 : 100}));
  }
  now_ns_ += 1;
  EXPECT_EQ(must(store_->expire_leases(study.id)), 1);
  EXPECT_EQ(new_trial(study.id).number, 5);
}

}  // namespace
}  // namespace hocket
