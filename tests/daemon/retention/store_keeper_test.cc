#include "daemon/retention/store_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/set_clock.h"
#include "tests/store/faulty_store.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kKeeperDayNs = 24 * StoreKeeper::kIntervalNs;

class StoreKeeperTest : public ::testing::Test {
 protected:
  void add_study(const std::string& name) {
    const auto study = must(store_->create_study(sample_study(name)));
    must(store_->update_study(study.id, {.state = StudyState::finished}));
  }
  std::size_t studies() { return must(store_->studies()).size(); }

  std::unique_ptr<StoreKeeper> keeper(Store& store) {
    return keeper(store, {.studies_ns = 2 * kKeeperDayNs, .audit_ns = 2 * kKeeperDayNs}, nullptr);
  }

  std::unique_ptr<StoreKeeper> keeper(Store& store, const RetentionPolicy& policy,
                                      ServedTraces* traces) {
    return std::make_unique<StoreKeeper>(
        StoreKeeperParts{.store = store,
                         .store_path = folder_.file("hocket.db"),
                         .policy = policy,
                         .clock = clock_,
                         .now_unix_ns = [this] { return wall_ns_; },
                         .log = log_,
                         .errors = errors_,
                         .traces = traces});
  }

  const TemporaryFolder folder_;
  SetClock clock_;
  std::int64_t wall_ns_ = 1'000 * kKeeperDayNs;
  std::vector<std::string> lines_;
  const Log log_ = Log({.sink = [this](std::string_view line) { lines_.emplace_back(line); }});
  const InternalErrors errors_{log_};
  const std::unique_ptr<Store> store_ = open_store_in_memory([this] { return wall_ns_; });
};

TEST_F(StoreKeeperTest, RemovesServedTracesThatNoProfileHas) {
  ServedTraces traces({.folder = folder_.file("served"), .url = "http://node7", .store = "here"});
  const auto kept = must(traces.make_set("ada")), gone = must(traces.make_set("ada"));
  for (const TraceSet& set : {kept, gone}) must(traces.append(set.id, 0, 0, "abc"));
  must(store_->add_profile(
      {.name = "kept", .ranks = {{.rank = 0, .trace_path = kept.of_rank(0).text()}}}));
  // Files are timed by the real clock.
  wall_ns_ = system_unix_ns() + kKeeperDayNs;
  keeper(*store_, {}, &traces)->run_due();
  EXPECT_EQ(traces.bytes_of(gone.of_rank(0)), 0);
  EXPECT_EQ(traces.bytes_of(kept.of_rank(0)), 3);
  EXPECT_THAT(lines_, Contains(HasSubstr("removed served traces")));
}

TEST_F(StoreKeeperTest, CountsTheBytesOfServedTraces) {
  ServedTraces traces({.folder = folder_.file("served"), .url = "http://node7", .store = "here"});
  const auto set = must(traces.make_set("ada"));
  must(traces.append(set.id, 0, 0, "abc"));
  must(store_->add_profile(
      {.name = "large", .ranks = {{.rank = 0, .trace_path = set.of_rank(0).text()}}}));
  keeper(*store_, {.profile_bytes = 2}, &traces)->run_due();
  EXPECT_TRUE(must(store_->profiles()).empty());
}

TEST_F(StoreKeeperTest, RemovesAtTheStartAndThenEveryHour) {
  add_study("a");
  wall_ns_ += 3 * kKeeperDayNs;
  add_study("b");
  const auto keeper = this->keeper(*store_);
  keeper->run_due();
  EXPECT_EQ(studies(), 1u);
  EXPECT_EQ(keeper->counts().studies, 1u);
  EXPECT_THAT(lines_,
              Contains(AllOf(HasSubstr("removed what has expired"), HasSubstr("studies=1"))));
  EXPECT_EQ(must(store_->audit({})).back().actor, kDaemonOwner);

  wall_ns_ += 3 * kKeeperDayNs;
  clock_.now += StoreKeeper::kIntervalNs - 1;
  keeper->run_due();
  EXPECT_EQ(studies(), 1u) << "not yet";
  clock_.now += 1;
  keeper->run_due();
  EXPECT_EQ(studies(), 0u);
  EXPECT_EQ(keeper->counts().studies, 2u);
  EXPECT_EQ(keeper->counts().audit_entries, 1u) << "that the first one was removed";
  EXPECT_EQ(keeper->counts().profiles, 0u);
}

TEST_F(StoreKeeperTest, TriesAgainAMinuteAfterAnErrorOfTheStore) {
  add_study("a");
  wall_ns_ += 3 * kKeeperDayNs;
  FaultyStore store(*store_, 0);
  store.set_locked(true);
  const auto keeper = this->keeper(store);
  keeper->run_due();
  EXPECT_THAT(lines_, Contains(AllOf(HasSubstr("could not be removed"), HasSubstr("locked"))));
  store.set_locked(false);
  keeper->run_due();
  EXPECT_EQ(studies(), 1u);
  clock_.now += StoreKeeper::kRetryNs;
  keeper->run_due();
  EXPECT_EQ(studies(), 0u);
}

TEST_F(StoreKeeperTest, AnExceptionIsCountedAndEndsThisTimeOnly) {
  add_study("a");
  wall_ns_ += 3 * kKeeperDayNs;
  FaultyStore store(*store_, 1, FaultKind::exception);
  const auto keeper = this->keeper(store);
  keeper->run_due();
  EXPECT_EQ(errors_.count(ErrorOrigin::retention), 1u);
  EXPECT_EQ(studies(), 1u);
  clock_.now += StoreKeeper::kIntervalNs;
  keeper->run_due();
  EXPECT_EQ(studies(), 0u);
}

TEST_F(StoreKeeperTest, TwoThatShareAStoreCountEachRowOnce) {
  add_study("a");
  wall_ns_ += 3 * kKeeperDayNs;
  const auto one = keeper(*store_), other = keeper(*store_);
  one->run_due();
  other->run_due();
  EXPECT_EQ(one->counts().studies + other->counts().studies, 1u);
  EXPECT_THAT(lines_, Not(Contains(HasSubstr("stays"))));
}

}  // namespace
}  // namespace hocket
