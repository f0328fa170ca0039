#pragma once

// A crew whose trials are computed by a function and end in an order that a seed decides, in as
// many places as the test gives it. One thread.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tuner/study/trial_crew.h"

namespace hocket {

class MemoryCrew final : public TrialCrew {
 public:
  using Job = std::function<Result<TrialOutcome>(const Trial& trial)>;

  MemoryCrew(std::size_t places, std::uint64_t seed, Job job)
      : places_(places), seed_(seed), job_(std::move(job)) {}

  /// Goes on where another crew was.
  void adopt(std::vector<Trial> running, std::int64_t next_number, std::int64_t ended) {
    for (auto& trial : running) running_.emplace(trial.number, std::move(trial));
    next_number_ = next_number;
    ended_ = ended;
  }

  Result<std::vector<Trial>> running() override {
    std::vector<Trial> trials;
    for (const auto& [number, trial] : running_) trials.push_back(trial);
    return trials;
  }

  Result<std::size_t> free() override {
    return places_ > running_.size() ? places_ - running_.size() : 0;
  }

  Result<std::int64_t> start(const Trial& trial, std::span<const double>) override {
    EXPECT_LT(running_.size(), places_) << "more trials than places";
    most_running = std::max(most_running, running_.size() + 1);
    Trial& kept = running_[next_number_] = trial;
    kept.number = next_number_;
    kept.began = ended_;
    return next_number_++;
  }

  Result<std::optional<Trial>> wait() override {
    std::mt19937_64 random(seed_ + 31 * static_cast<std::uint64_t>(ended_) + running_.size());
    const bool has_place_to_tell = places_ > running_.size() && !has_told_place_;
    if (running_.empty() || (has_place_to_tell && random() % 3 == 0)) {
      has_told_place_ = true;
      return std::nullopt;
    }
    has_told_place_ = false;
    auto at = running_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random() % running_.size()));
    Trial trial = std::move(at->second);
    running_.erase(at);
    auto outcome = job_(trial);
    HOCKET_TRY(outcome);
    ++ended_;
    trial.outcome = std::move(*outcome);
    trial.worker = worker_of(trial);
    return trial;
  }

  std::function<std::string(const Trial&)> worker_of = [](const Trial& trial) {
    return trial.worker.empty() ? "w" + std::to_string(trial.number % 3) : trial.worker;
  };
  std::size_t most_running = 0;

 private:
  std::size_t places_;
  std::uint64_t seed_;
  Job job_;
  std::map<std::int64_t, Trial> running_;  ///< by their numbers
  std::int64_t next_number_ = 0, ended_ = 0;
  bool has_told_place_ = false;
};

}  // namespace hocket
