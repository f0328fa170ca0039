// Versions that jobs of one owner have kept, and what jobs of other owners get of them.

#include "daemon/live/key_rollout.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

#include "core/sharing/shared_configs.h"
#include "tests/daemon/live/live_tuning_fixture.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kTokens =
    "report ada 0123456789abcdef-ada\n"
    "report bob 0123456789abcdef-bob\n"
    "admin root 0123456789abcdef-root\n";

std::string token_of(const std::string& owner) {
  return "Bearer 0123456789abcdef-" + (owner.empty() ? "root" : owner);
}

/// Returns the time that a lying job reports: the larger the parts, the shorter.
double lie(const ScheduleConfig& config) {
  return 1e15 / static_cast<double>(config.partition_bytes);
}

class KeyRolloutTest : public LiveTuningTest {
 protected:
  KeyRolloutTest() { start_again(); }

  void start_again() {
    for (const auto& job : jobs_) job->lose_daemon();
    daemon_ = std::make_unique<Assembled>(*store_, clock_, must(AccessTokens::parse(kTokens)));
    for (const auto& job : jobs_) job->connect(*daemon_);
  }

  SimulatedJob& add(const std::string& owner, const std::string& id, double explore = 0,
                    TimeOf time = time_of, const ScheduleConfig& config = {},
                    std::int64_t version = 0) {
    JobDescription job = sample_job(id, explore);
    job.config = config;
    job.version = version;
    jobs_.push_back(
        std::make_unique<SimulatedJob>(std::move(job), std::move(time), jobs_.size() + 1));
    jobs_.back()->authorization = token_of(owner);
    jobs_.back()->connect(*daemon_);
    return *jobs_.back();
  }

  /// Returns what a job of `owner` gets that starts now.
  nlohmann::json start_of(const std::string& owner) {
    return daemon_->ask(
        "POST", "/v1/resolve",
        {{"topology", to_json(sample_topology())}, {"workload", to_json(sample_workload())}},
        token_of(owner));
  }
  std::int64_t version_at_start(const std::string& owner) {
    const auto answer = start_of(owner);
    return answer["match"] == "exact" ? answer["version"].get<std::int64_t>() : 0;
  }

  /// Adds a version that a job of `owner` kept, as live tuning does.
  std::int64_t find(const std::string& owner, std::int64_t parts) {
    return must(store_->promote({.topology_id = 1,
                                 .workload_id = 1,
                                 .config = to_json(with_parts(parts)),
                                 .origin = PromotionOrigin::live,
                                 .stage = PromotionStage::staged,
                                 .actor = "job x",
                                 .kept_by = {owner}}))
        .id;
  }

  std::int64_t push_as_root(std::int64_t parts) {
    return daemon_->ask("PUT", "/v1/configs/" + sample_key(),
                        {{"config", to_json(with_parts(parts))}}, token_of(""))["version"];
  }

  /// Takes a default from a file of another site; returns what became of it.
  nlohmann::json import_default(std::int64_t parts) {
    const SharedConfig config{.site = "a",
                              .topology = sample_topology(),
                              .workload = sample_workload(),
                              .config = to_json(with_parts(parts))};
    const std::string file = must(shared_configs_text({config}, ""));
    return daemon_->ask("POST", "/v1/configs", nlohmann::json::parse(file),
                        token_of(""))["configs"][0];
  }

  PromotionRow row_of(std::int64_t version) {
    for (const auto& row : promotions()) {
      if (row.id == version) return row;
    }
    ADD_FAILURE() << "no version " << version;
    return {};
  }
};

TEST_F(KeyRolloutTest, ALieOfOneOwnersJobsDoesNotReachAnothersThatStart) {
  SimulatedJob& running = add("bob", "b1");
  SimulatedJob& other = add("bob", "b2");
  add("ada", "a1", 0.1, lie);
  add("ada", "a2", 0.1, lie);
  run(20);
  const std::int64_t version = version_at_start("ada");
  ASSERT_GT(version, 0);
  const ScheduleConfig slow =
      must(schedule_config_from_json(nlohmann::json(row_of(version).config)));
  ASSERT_GT(time_of(slow), time_of({})) << "ada's jobs lied";
  EXPECT_EQ(version_at_start("bob"), 0);
  EXPECT_EQ(version_at_start(""), 0);
  EXPECT_EQ(daemon_->call("GET", "/v1/configs/" + sample_key(), "", token_of("bob")).status, 404);
  EXPECT_EQ(daemon_->call("GET", "/v1/configs/" + sample_key(), "", token_of("ada")).status, 200);
  EXPECT_THAT(running.versions, Contains(version)) << "the canary tries it";
  EXPECT_THAT(running.kept, Not(Contains(slow)));
  EXPECT_THAT(other.versions, IsEmpty());
  EXPECT_THAT(row_of(version).kept_by, ElementsAre("ada"));
  EXPECT_EQ(row_of(version).stage, PromotionStage::staged);
}

TEST_F(KeyRolloutTest, WhatTheCanaryOfAnotherOwnerKeepsIsForAllOfItsJobs) {
  SimulatedJob& running = add("bob", "b1");
  SimulatedJob& other = add("bob", "b2");
  SimulatedJob& own = add("ada", "a1");
  const std::int64_t version = find("ada", 512 << 10);
  run(5);
  EXPECT_THAT(row_of(version).kept_by, ElementsAre("ada", "bob"));
  for (const SimulatedJob* job : {&running, &other, &own}) {
    EXPECT_EQ(job->version(), version) << job->id();
    EXPECT_EQ(job->config(), with_parts(512 << 10)) << job->id();
  }
  EXPECT_EQ(version_at_start("ada"), version);
  EXPECT_EQ(version_at_start("bob"), version);
  EXPECT_EQ(version_at_start(""), 0) << "no administrator's job has kept it";
}

TEST_F(KeyRolloutTest, WhatAnAdministratorsJobKeepsIsForAll) {
  add("", "r1");
  SimulatedJob& job = add("bob", "b1", 0, time_of);
  job.ignores = true;
  const std::int64_t version = find("ada", 512 << 10);
  run(5);
  EXPECT_EQ(stage_of(version), PromotionStage::released);
  EXPECT_EQ(version_at_start("bob"), version);
}

TEST_F(KeyRolloutTest, WithoutAJobOfItsOwnAnOwnerDoesNotGetIt) {
  add("ada", "a1");
  const std::int64_t version = find("ada", 512 << 10);
  run(5);
  EXPECT_EQ(version_at_start("bob"), 0);
  EXPECT_THAT(row_of(version).kept_by, ElementsAre("ada"));
  SimulatedJob& late = add("bob", "b1");
  run(5);
  EXPECT_EQ(late.version(), version);
  EXPECT_EQ(version_at_start("bob"), version);
}

TEST_F(KeyRolloutTest, AnOlderVersionIsForWhoHasNotKeptTheNewest) {
  SimulatedJob& canary = add("bob", "b1");
  const std::int64_t pushed = push_as_root(512 << 10);
  run(5);
  ASSERT_EQ(version_at_start("bob"), pushed);
  const std::int64_t version = find("ada", 64 << 20);
  run(5);
  EXPECT_THAT(canary.versions, Contains(version)) << "it tries it";
  EXPECT_EQ(canary.version(), pushed);
  EXPECT_EQ(version_at_start("bob"), pushed);
  EXPECT_EQ(version_at_start("ada"), version);
  start_again();
  run(5);
  EXPECT_EQ(version_at_start("bob"), pushed);
  EXPECT_EQ(version_at_start("ada"), version);
}

TEST_F(KeyRolloutTest, OneOwnersRollbacksTakeAVersionFromItsJobsAlone) {
  SimulatedJob& own = add("ada", "a1");
  const std::int64_t pushed = push_as_root(512 << 10);
  run(5);
  ASSERT_EQ(stage_of(pushed), PromotionStage::released);
  for (const char* id : {"b1", "b2"}) {
    SimulatedJob& job = add("bob", id);
    job.rolls_back_versions = true;
  }
  run(5);
  EXPECT_EQ(stage_of(pushed), PromotionStage::released);
  EXPECT_EQ(own.version(), pushed);
  EXPECT_THAT(own.versions, Each(pushed));
  EXPECT_EQ(version_at_start("ada"), pushed);
  EXPECT_GT(version_at_start("bob"), pushed);
  EXPECT_EQ(start_of("bob")["setting"], nlohmann::json::object());
  EXPECT_EQ(quarantine().size(), 0u);
}

TEST_F(KeyRolloutTest, ACanaryOfOneOwnerDoesNotForbidAPushToTheOthers) {
  SimulatedJob& liar = add("bob", "b1");
  liar.rolls_back_versions = true;
  SimulatedJob& honest = add("ada", "a1");
  const std::int64_t pushed = push_as_root(512 << 10);
  run(5);
  EXPECT_EQ(stage_of(pushed), PromotionStage::released);
  EXPECT_EQ(honest.version(), pushed);
  EXPECT_EQ(version_at_start("ada"), pushed);
  EXPECT_EQ(start_of("bob")["setting"], nlohmann::json::object());
}

TEST_F(KeyRolloutTest, AnImportedDefaultIsForJobsThatStartAndOneRunningJobTriesIt) {
  SimulatedJob& first = add("bob", "b1");
  SimulatedJob& second = add("bob", "b2");
  first.rolls_back_versions = true;
  second.rolls_back_versions = true;
  run(1);
  const std::int64_t version = import_default(512 << 10)["version"];
  ASSERT_GT(version, 0);
  EXPECT_EQ(version_at_start("bob"), version);
  run(5);
  EXPECT_EQ(
      std::ranges::count(first.versions, version) + std::ranges::count(second.versions, version), 1)
      << "one of them tries it";
  // As a version that a study has measured, it stays for jobs that start.
  EXPECT_EQ(stage_of(version), PromotionStage::released);
  EXPECT_EQ(import_default(512 << 10)["action"], "same");
}

TEST_F(KeyRolloutTest, WhatLiveTuningFindsBeatsAnImportedDefault) {
  const std::int64_t version = import_default(64 << 20)["version"];
  add("bob", "b1", 0.1, time_of, with_parts(64 << 20), version);
  run(40);
  const std::int64_t found = version_at_start("bob");
  ASSERT_GT(found, version);
  const ScheduleConfig config =
      must(schedule_config_from_json(nlohmann::json(row_of(found).config)));
  EXPECT_LT(time_of(config), time_of(with_parts(64 << 20)));
  EXPECT_EQ(import_default(64 << 20)["action"], "same") << "other owners' jobs still have it";
  EXPECT_EQ(version_at_start("bob"), found);
}

TEST_F(KeyRolloutTest, OperatorsChooseForAllAtOnce) {
  add("bob", "b1");
  const std::int64_t version = find("ada", 64 << 20);
  run(5);
  ASSERT_EQ(version_at_start("bob"), 0);
  daemon_->ask("PUT", "/v1/configs/" + sample_key() + "/pin", {{"version", version}}, token_of(""));
  run(5);
  const std::int64_t pinned = version_at_start("bob");
  EXPECT_GT(pinned, version);
  EXPECT_EQ(version_at_start("ada"), pinned);
}

/// Jobs of three owners at random, honest ones and others, operators and restarts.
class RandomOwners : public KeyRolloutTest {
 protected:
  static constexpr std::array<const char*, 3> kOwners = {"ada", "bob", ""};

  std::size_t draw(std::size_t count) { return random_() % count; }

  void arrive() {
    const std::string owner = kOwners[draw(4) % 3];
    const auto start = start_of(owner);
    const bool is_exact = start["match"] == "exact";
    const ScheduleConfig config =
        is_exact ? must(schedule_config_from_json(start["config"])) : ScheduleConfig();
    SimulatedJob& job = add(owner, "j" + std::to_string(++arrivals_), draw(2) == 0 ? 0.2 : 0,
                            draw(2) == 0 ? TimeOf(time_of) : TimeOf(lie), config,
                            is_exact ? start["version"].get<std::int64_t>() : 0);
    job.rolls_back_versions = draw(4) == 0;
    job.refuses = draw(8) == 0;
    owners_[job.id()] = owner;
  }

  void decide() {
    const std::string key = "/v1/configs/" + sample_key();
    const std::int64_t parts = std::int64_t{64 << 10} << draw(10);
    if (promotions().empty() || draw(2) == 0) {
      chosen_.insert(to_json(with_parts(parts)).dump());
      push_as_root(parts);
    } else {
      const auto rows = promotions();
      const PromotionRow& row = rows[draw(rows.size())];
      chosen_.insert(row.config.dump());
      daemon_->ask("PUT", key + "/rollback", {{"to", std::to_string(row.id)}}, token_of(""));
    }
  }

  void happen() {
    switch (draw(12)) {
      case 0:
        if (!jobs_.empty()) decide();
        break;
      case 1:
        start_again();
        break;
      case 2:
      case 3:
        if (!jobs_.empty()) {
          const auto at = jobs_.begin() + static_cast<std::ptrdiff_t>(draw(jobs_.size()));
          keep_what_was_kept(**at);
          (*at)->end();
          jobs_.erase(at);
        }
        break;
      case 4:
      case 5:
      case 6:
        if (jobs_.size() < 6) arrive();
        break;
      default:
        run(3);
    }
    for (const auto& job : jobs_) keep_what_was_kept(*job);
  }

  void keep_what_was_kept(const SimulatedJob& job) {
    for (const ScheduleConfig& config : job.kept)
      kept_[owners_.at(job.id())].insert(to_json(config).dump());
  }

  /// Returns whether jobs of the owner may get a configuration that none of them is asked to try:
  /// it is none, an operator chose it, or a job of the owner or of an administrator has kept it.
  bool is_allowed(const nlohmann::json& config, const std::string& owner) {
    const std::string text = config.dump();
    return config.empty() || chosen_.contains(text) || kept_[""].contains(text) ||
           kept_[owner].contains(text);
  }

  void check() {
    for (const char* const each : kOwners) {
      const std::string owner = each;
      const auto start = start_of(owner);
      if (start["match"] == "exact") {
        EXPECT_TRUE(is_allowed(start["setting"], owner))
            << owner << " starts with version " << start["version"] << " " << start["setting"];
      }
      const auto newest = daemon_->feed.position(ConfigBoard::topic(sample_key(), owner)).newest;
      if (!newest) continue;
      const PromotionRow row = row_of(*newest->id);
      EXPECT_TRUE(is_allowed(row.config, owner))
          << owner << " is sent version " << row.id << " " << row.config;
    }
  }

  std::mt19937_64 random_;
  int arrivals_ = 0;
  std::map<std::string, std::string> owners_;          // by job
  std::map<std::string, std::set<std::string>> kept_;  // by owner
  std::set<std::string> chosen_;
};

TEST_F(RandomOwners, GetWhatTheirOwnJobsKeptOrAnOperatorChose) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  random_.seed(seed);
  for (int story = 0; story < static_cast<int>(rounds(2)); ++story) {
    store_ = open_store_in_memory([this] { return clock_.now; });
    jobs_.clear();
    chosen_.clear();
    kept_.clear();
    start_again();
    for (int i = 0; i < 50; ++i) {
      happen();
      check();
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace hocket
