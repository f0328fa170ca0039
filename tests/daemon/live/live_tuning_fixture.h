#pragma once

// A daemon's parts and simulated jobs with a known best configuration. One thread.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/daemon/simulated_job.h"

namespace hocket {

inline constexpr double kMillisecondNs = 1e6;

/// Returns an iteration time with its minimum at parts of 512 KiB, about half of the default's
/// time.
inline double time_of(const ScheduleConfig& config) {
  const double parts = std::log2(static_cast<double>(config.partition_bytes) / (512 << 10));
  return 10 * kMillisecondNs * (1 + 0.1 * parts * parts);
}

inline ScheduleConfig with_parts(std::int64_t bytes) {
  ScheduleConfig config;
  config.partition_bytes = bytes;
  return config;
}

class LiveTuningTest : public testing::Test {
 protected:
  SimulatedJob& add_job(const std::string& id, double explore = 0.1, TimeOf time = time_of,
                        RunnableValues can_run = {}) {
    JobDescription job = sample_job(id, explore);
    job.can_run = std::move(can_run);
    jobs_.push_back(
        std::make_unique<SimulatedJob>(std::move(job), std::move(time), jobs_.size() + 1));
    jobs_.back()->connect(*daemon_);
    return *jobs_.back();
  }

  /// Ends the daemon, whose server ends all streams first.
  void end_daemon() {
    for (const auto& job : jobs_) job->lose_daemon();
    daemon_.reset();
  }

  void run(int rounds = 20) {
    for (int i = 0; i < rounds; ++i) {
      daemon_->tick();
      for (const auto& job : jobs_) job->run();
      EXPECT_LE(running_trials(), 1);
    }
  }

  void restart(Store* store = nullptr) {
    for (const auto& job : jobs_) job->lose_daemon();
    daemon_ = std::make_unique<Assembled>(store ? *store : *store_, clock_);
    for (const auto& job : jobs_) job->connect(*daemon_);
  }

  std::vector<PromotionRow> promotions() { return must(store_->promotions({})); }
  std::vector<StudyRow> studies() { return must(store_->studies()); }

  std::int64_t running_trials() {
    std::int64_t count = 0;
    for (const auto& study : studies()) {
      for (const auto& trial : must(store_->trials(study.id, TrialDetail::summary))) {
        count += trial.state == TrialState::running;
      }
    }
    return count;
  }

  std::vector<nlohmann::json> quarantine() {
    std::vector<nlohmann::json> configs;
    for (const auto& row : must(store_->quarantined(1, 1))) configs.push_back(row.config);
    return configs;
  }

  std::int64_t push(const ScheduleConfig& config) {
    return daemon_->ask("PUT", "/v1/configs/" + sample_key(),
                        {{"config", to_json(config)}})["version"];
  }
  std::int64_t push(std::int64_t parts) { return push(with_parts(parts)); }

  /// Returns the answer to a job that starts and says `can_run`.
  nlohmann::json resolve(const RunnableValues& can_run = {}) {
    return daemon_->ask("POST", "/v1/resolve",
                        {{"topology", to_json(sample_topology())},
                         {"workload", to_json(sample_workload())},
                         {"can_run", to_json(can_run)}});
  }

  PromotionStage stage_of(std::int64_t version) {
    for (const auto& row : promotions()) {
      if (row.id == version) return row.stage;
    }
    ADD_FAILURE() << "no version " << version;
    return {};
  }

  std::int64_t count_audit(const std::string& action) {
    return std::ranges::count(must(store_->audit({})), action, &AuditRow::action);
  }

  SetClock clock_;
  std::unique_ptr<Store> store_ = open_store_in_memory([this] { return clock_.now; });
  std::unique_ptr<Assembled> daemon_ = std::make_unique<Assembled>(*store_, clock_);
  std::vector<std::unique_ptr<SimulatedJob>> jobs_;
};

}  // namespace hocket
