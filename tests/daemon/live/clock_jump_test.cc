// Tests a wall clock that is set by hours, in both directions.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <random>

#include "tests/daemon/simulated_job.h"
#include "tuner/study/study_definition.h"

namespace hocket {
namespace {

constexpr std::int64_t kHourNs = 3600 * kSecondNs;
constexpr std::int64_t kLeaseNs = 60 * kSecondNs;

std::int64_t random_jump(std::mt19937_64& random) {
  return static_cast<std::int64_t>(random() % (6 * kHourNs)) - 3 * kHourNs;
}

/// Returns the result of live tuning of two jobs, without times.
nlohmann::json tune(bool jumps, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  SetClock clock;
  std::int64_t ahead_ns = 0;
  const auto store = open_store_in_memory([&] { return clock.now + ahead_ns; });
  Assembled daemon(*store, clock);
  const auto time_of = [](const ScheduleConfig& config) {
    return 1e7 + std::abs(static_cast<double>(config.partition_bytes) - (1 << 19));
  };
  SimulatedJob explorer(sample_job("a"), time_of), other(sample_job("b", 0), time_of);
  explorer.connect(daemon);
  other.connect(daemon);
  nlohmann::json outcome;
  for (int round = 0; round < 45; ++round) {
    if (jumps) ahead_ns = daemon.wall_ahead_ns = random_jump(random);
    if (round == 10 || round == 25) {
      ScheduleConfig config;
      config.partition_bytes = (1 << 19) + round;
      daemon.ask("PUT", "/v1/configs/" + sample_key(), {{"config", to_json(config)}});
    }
    daemon.tick();
    // Offers and broken connections last for several jumps.
    if (round == 15) other.disconnect();
    if (round == 17) outcome["jobs"] = daemon.jobs.list().size();
    if (round == 18) other.connect(daemon);
    if (round % 3 != 0) continue;
    explorer.run();
    if (round < 15 || round >= 18) other.run();
  }
  for (const auto& one : explorer.offered) outcome["offered"].push_back(to_json(one.config));
  outcome["versions"] = other.versions;
  for (const auto& row : must(store->promotions({}))) {
    outcome["promotions"].push_back(
        {row.id, row.config, to_string(row.stage), to_string(row.origin)});
  }
  std::int64_t last_id = 0;
  for (const auto& row : must(store->audit({}))) {
    EXPECT_GT(row.id, std::exchange(last_id, row.id)) << "the audit is in the order of events";
    outcome["audit"].push_back({row.id, row.actor, row.action, row.subject, row.detail});
  }
  return outcome;
}

TEST(ClockJump, LiveTuningDoesNotSeeIt) {
  const auto calm = tune(false, 0);
  EXPECT_GT(calm["offered"].size(), 3u);
  EXPECT_GE(calm["versions"].size(), 2u);
  EXPECT_EQ(calm["jobs"], 2);
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    SCOPED_TRACE(seed);
    EXPECT_EQ(tune(true, seed), calm);
  }
}

class StudyUnderJumps : public testing::Test {
 protected:
  StudyUnderJumps() {
    const Parameter x{
        .name = "x", .domain = IntegerRange{1, 1000}, .default_value = std::int64_t{1}};
    StudyDefinition definition{.space = must(Space::make({x})),
                               .objective = must(parse_objective("report"))};
    definition.method = SearchMethod::random;
    definition.trials = 10'000;
    must(store_->create_study({.name = "s",
                               .command = {},
                               .definition = to_json(definition),
                               .owner = StudyService::kOwner,
                               .topology_id = {},
                               .workload_id = {}}));
  }

  TrialRow ask() {
    const auto asked = must(service_.ask("s", "w", kLeaseNs));
    EXPECT_TRUE(asked.trial) << asked.reason;
    return asked.trial.value_or(TrialRow{});
  }

  bool is_there(std::int64_t trial) {
    const auto rows = must(store_->trials(must(store_->study("s")).id, TrialDetail::summary));
    return std::ranges::find(rows, trial, &TrialRow::id) != rows.end();
  }

  std::int64_t wall_ns_ = 1'800'000'000 * kSecondNs;
  std::unique_ptr<Store> store_ = open_store_in_memory([this] { return wall_ns_; });
  StudyService service_{*store_};
};

TEST_F(StudyUnderJumps, ALeaseOutlivesItsTimeByTheJumpAtMost) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const TrialRow held = ask();
    const auto back_ns = static_cast<std::int64_t>(random() % (3 * kHourNs));
    wall_ns_ -= back_ns;
    wall_ns_ += kLeaseNs + back_ns - 1;  // time that passes
    ask();
    EXPECT_TRUE(is_there(held.id)) << "a worker that has its lease lost it";
    wall_ns_ += 1;
    const TrialRow next = ask();
    EXPECT_FALSE(is_there(held.id));
    EXPECT_EQ(next.params, held.params) << "it goes to the next one";
    must(service_.tell("s", next.id, {.value = 1}));
  }
}

TEST_F(StudyUnderJumps, RenewingMakesALeaseAsLongAsEver) {
  const TrialRow held = ask();
  wall_ns_ -= kHourNs;
  EXPECT_EQ(must(service_.renew("s", held.id, kLeaseNs)), wall_ns_ + kLeaseNs);
  wall_ns_ += kLeaseNs;
  ask();
  EXPECT_FALSE(is_there(held.id));
}

TEST_F(StudyUnderJumps, NothingToldIsLostWhateverTheClockShows) {
  constexpr std::uint64_t kSeed = 3;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  std::vector<TrialRow> held;
  std::vector<std::int64_t> told;
  for (int i = 0; i < 400; ++i) {
    wall_ns_ += random_jump(random);
    held.push_back(ask());
    const std::size_t one = random() % held.size();
    const auto ok = service_.tell("s", held[one].id, {.value = 1.0 + i});
    // The lease may have expired; then the worker receives an error.
    EXPECT_EQ(ok.has_value(), is_there(held[one].id));
    if (ok) told.push_back(held[one].id);
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(one));
  }
  EXPECT_GT(told.size(), 20u);
  for (const std::int64_t trial : told) EXPECT_TRUE(is_there(trial));
}

}  // namespace
}  // namespace hocket
