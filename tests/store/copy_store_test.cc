#include "store/copy_store.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <limits>

#include "store/open.h"
#include "store/sqlite/connection.h"
#include "tests/store/store_fixture.h"

namespace hocket {
namespace {

using testing::Contains;
using testing::HasSubstr;

class CopyStore : public StoreFixture {
 protected:
  /// Fills every table, with values that are easily lost, and with rows that were removed.
  void fill() {
    const auto topology = must(store_->upsert_topology(sample_topology()));
    const auto workload = must(store_->upsert_workload(sample_workload("r\xc3\xa9my \n")));
    const auto study = new_study(), removed = new_study();
    must(store_->remove_study(removed.id, removed.owner, "ada"));
    for (int i = 0; i < 30; ++i) {
      const auto trial = must(store_->start_trial({study.id, {}, {{"x", i}}, "w", 9}));
      if (i > 20) continue;
      TrialOutcome result = sample_result(i / 7.0);
      result.metrics["b"] = {0.1, -0.0, 1e308, 5e-324, -3, 9007199254740993.0};
      result.metrics[std::string("any\0\xff", 5)] = {1};
      result.message = std::string("any\0bytes \xff\n", 13);
      result.output = {result.message, "warning\n"};
      must(store_->finish_trial(trial.id, result));
    }
    must(store_->abandon_running_trials(study.id));
    must(store_->start_trial({.study_id = study.id, .worker = "w", .is_offered = true}));
    must(store_->claim_trial(study.id, {"w", "r\xc3\xa9my's host", 5}));
    must(store_->leave_worker(study.id, "w", /*is_lost=*/true));
    constexpr auto kEver = std::numeric_limits<std::int64_t>::max();
    must(store_->renew_worker(study.id, {"w", "r\xc3\xa9my's host", kEver}));
    must(store_->start_trial({.study_id = study.id, .worker = "w", .is_offered = true}));
    must(
        store_->promote({topology, workload, study.id, {{"s", "1"}}, MeasuredGain{1, 2, 1 / 3.0}}));
    must(store_->promote({.topology_id = topology,
                          .workload_id = workload,
                          .study_id = study.id,
                          .config = {{"s", std::string("\0", 1)}},
                          .origin = PromotionOrigin::live,
                          .note = "\xe2\x82\xac"}));
    must(store_->set_key_state(topology, workload, {.pinned = true}, "ada"));
    must(store_->quarantine({topology, workload, {{"s", std::string(9'000, 'x')}}, "slow", ""}));
    for (int i = 0; i < 3; ++i) {
      NewProfile profile{.source = "host", .workload_id = workload};
      profile.ranks = {{.rank = 0, .trace_path = "/traces/\xff"}, {.rank = 1}};
      for (std::int64_t step = 0; step < 500; ++step) {
        profile.iterations.push_back({step % 2, step, 1, 2, 3, 4, 5});
      }
      profile.metrics = {{{}, "overlap", 0.1}, {1, "Busy", 2}, {1, "busy", 3}};
      must(store_->add_profile(profile));
    }
    must(store_->remove_profile(3));
    must(store_->request_profile({"job", 3, "ada"}));
    must(store_->take_profile_request("job", "", 1'000));
    must(store_->request_profile({"other", 3, "ada"}));
  }

  /// Checks that two stores answer alike.
  static void expect_equal(Store& a, Store& b) {
    EXPECT_EQ(must(a.topologies()), must(b.topologies()));
    EXPECT_EQ(must(a.workloads("")), must(b.workloads("")));
    EXPECT_EQ(must(a.studies()), must(b.studies()));
    EXPECT_EQ(must(a.trials(1, TrialDetail::with_measurements)),
              must(b.trials(1, TrialDetail::with_measurements)));
    EXPECT_EQ(must(a.trial_output(5)), must(b.trial_output(5)));
    EXPECT_EQ(must(a.workers(1)), must(b.workers(1)));
    EXPECT_EQ(must(a.promotions({})), must(b.promotions({})));
    EXPECT_EQ(must(a.keys()), must(b.keys()));
    EXPECT_EQ(must(a.quarantined(1, 1)), must(b.quarantined(1, 1)));
    EXPECT_EQ(must(a.audit({})), must(b.audit({})));
    EXPECT_EQ(must(a.profiles()), must(b.profiles()));
    EXPECT_EQ(must(a.profile_iterations(2)), must(b.profile_iterations(2)));
    EXPECT_EQ(must(a.profile_metrics(2)), must(b.profile_metrics(2)));
    EXPECT_EQ(must(a.profile_requests()), must(b.profile_requests()));
  }

  const TemporaryFolder folder_;
  const std::string file_ = folder_.file("copy.db");
};

TEST_F(CopyStore, CopiesEverythingThereAndBack) {
  fill();
  const auto copied = must(copy_store(place_.store(), file_));
  EXPECT_EQ(copied.size(), 17u);
  EXPECT_THAT(copied, Contains(CopiedTable{"trials", 23}));
  EXPECT_THAT(copied, Contains(CopiedTable{"profile_iterations", 1'000}));
  for (const CopiedTable& table : copied) EXPECT_GT(table.rows, 0) << table.name;
  const auto there = must(open_store(file_));
  expect_equal(*store_, *there);

  const TestPlace again;
  EXPECT_EQ(must(copy_store(file_, again.store())), copied);
  const auto back = must(open_store(again.store()));
  expect_equal(*store_, *back);
  EXPECT_TRUE(again.check());
}

TEST_F(CopyStore, NumbersGoOnBehindThoseOfRemovedRows) {
  fill();
  must(copy_store(place_.store(), file_));
  const TestPlace again;
  must(copy_store(file_, again.store()));
  for (const std::string& copy : {file_, again.store()}) {
    SCOPED_TRACE(copy);
    const auto store = must(open_store(copy));
    EXPECT_EQ(must(store->start_trial({1, {}, {{"x", 1}}})).id, 33);
    EXPECT_EQ(must(store->add_profile({})).id, 4);
    EXPECT_EQ(must(store->create_study(sample_study())).id, 3);
    EXPECT_EQ(must(store->request_profile({"j", 1, ""})).id, 3);
    EXPECT_EQ(must(store->upsert_workload(sample_workload("new"))), 2);
    EXPECT_EQ(must(store->promote({.topology_id = 1,
                                   .workload_id = 1,
                                   .config = {{"streams", 2}},
                                   .origin = PromotionOrigin::push}))
                  .id,
              3);
  }
}

TEST_F(CopyStore, RefusesATargetThatIsNotEmpty) {
  new_study();
  const auto target = must(open_store(file_));
  must(target->upsert_topology(sample_topology()));
  const auto copied = copy_store(place_.store(), file_);
  EXPECT_EQ(code_of(copied), ErrorCode::invalid_argument);
  EXPECT_THAT(message_of(copied), HasSubstr("is not empty: topologies has 1 row"));
  EXPECT_TRUE(must(target->studies()).empty());
  EXPECT_EQ(code_of(copy_store(place_.store(), place_.store())), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(copy_store(file_, place_.store())), ErrorCode::invalid_argument);
}

TEST_F(CopyStore, OfAMissingStoreMakesNone) {
  EXPECT_EQ(code_of(copy_store(folder_.file("none.db"), file_)), ErrorCode::not_found);
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(CopyStore, SaysWhichRowIsNotTheSameAndCopiesNothing) {
  fill();
  must(open_store(file_));
  {
    auto db = must(sqlite::Connection::open(file_, sqlite::Connection::Mode::create, 0));
    must(
        db.execute_script("CREATE TRIGGER damage AFTER INSERT ON trials WHEN NEW.id = 7 BEGIN "
                          "UPDATE trials SET value = value + 1 WHERE id = 7; END"));
  }
  const auto copied = copy_store(place_.store(), file_);
  EXPECT_EQ(code_of(copied), ErrorCode::unavailable);
  EXPECT_THAT(message_of(copied), HasSubstr("row 7 of trials is not the same"));
  EXPECT_TRUE(must(must(open_store(file_))->studies()).empty());
  {
    auto db = must(sqlite::Connection::open(file_, sqlite::Connection::Mode::create, 0));
    must(db.execute_script(
        "DROP TRIGGER damage; CREATE TRIGGER damage AFTER INSERT ON audit WHEN NEW.id = 2 BEGIN "
        "DELETE FROM audit WHERE id = 2; END"));
  }
  EXPECT_THAT(message_of(copy_store(place_.store(), file_)),
              HasSubstr("row 2 of audit is not the same"));
  EXPECT_TRUE(must(must(open_store(file_))->studies()).empty());
}

}  // namespace
}  // namespace hocket
