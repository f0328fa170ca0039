#pragma once

// A simulated job as the daemon sees it: registers, watches, tries received configurations in its
// own window, keeps the faster one, and reports. Deterministic. One thread.

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/statistics.h"
#include "tests/daemon/assembled.h"

namespace hocket {

/// Returns the iteration time under a configuration.
using TimeOf = std::function<double(const ScheduleConfig&)>;

class SimulatedJob {
 public:
  SimulatedJob(JobDescription description, TimeOf time_of, std::uint64_t seed = 1)
      : description_(std::move(description)), time_of_(std::move(time_of)), random_(seed) {}

  /// Registers and watches: at the start, and again after a reconnect.
  void connect(Assembled& daemon, const std::string& key = sample_key()) {
    daemon_ = &daemon;
    daemon.ask("POST", "/v1/jobs", to_json(description_), authorization);
    const auto reply = daemon.reply({.method = "GET",
                                     .target = "/v1/watch?key=" + key + "&job=" + id(),
                                     .authorization = authorization});
    const auto* stream = std::get_if<EventStream>(&reply);
    ASSERT_NE(stream, nullptr);
    topics_ = stream->topics;
    hold_ = stream->hold;
    daemon.settle();
  }

  void disconnect() {
    if (daemon_ == nullptr) return;
    hold_.reset();
    daemon_->settle();
    daemon_ = nullptr;
  }

  /// Lets go of a daemon that is about to be destroyed.
  void lose_daemon() {
    hold_.reset();
    daemon_ = nullptr;
  }

  /// Ends and reports it; received candidates that were not tried are rejected.
  void end() {
    for (auto& topic : topics_) {
      const auto position = daemon_->feed.position(topic.name);
      if (!position.newest || position.sequence <= topic.seen) continue;
      const auto message = must(daemon_message_from_json(
          position.newest->type, nlohmann::json::parse(position.newest->data)));
      if (const auto* candidate = std::get_if<CandidateMessage>(&message)) {
        outcomes_.push_back({.trial = candidate->trial,
                             .status = ChangeStatus::rejected,
                             .message = "the job ended first"});
      } else if (const auto* version = std::get_if<ConfigMessage>(&message)) {
        outcomes_.push_back({.version = version->version,
                             .status = ChangeStatus::rejected,
                             .message = "the job ended first"});
      }
    }
    report({}, true);
    daemon_->settle();
  }

  /// Reads its events, tries the received configurations, and reports a few iterations.
  void run(int iterations = 10) {
    read();
    if (!outcomes_.empty()) report({});
    std::vector<std::int64_t> times;
    for (int i = 0; i < iterations; ++i) times.push_back(measure(description_.config));
    if (iterations > 0) report(std::move(times));
  }

  /// Tries the received configurations without reporting.
  void read() {
    for (auto& topic : topics_) {
      const auto position = daemon_->feed.position(topic.name);
      if (!position.newest || position.sequence <= topic.seen) continue;
      topic.seen = position.sequence;
      if (topic.receives && !topic.receives(*position.newest)) continue;
      take(*position.newest);
    }
  }

  void forget_outcomes() { outcomes_.clear(); }

  std::string authorization = {};  ///< of the job's token
  const std::string& id() const { return description_.id; }
  const ScheduleConfig& config() const { return description_.config; }
  std::int64_t version() const { return description_.version; }

  std::vector<CandidateMessage> offered;  ///< candidates received, in order
  std::vector<std::int64_t> versions;     ///< versions received, in order
  std::vector<ScheduleConfig> slower;     ///< candidates rolled back as slower
  std::vector<ScheduleConfig> kept;       ///< candidates and versions that were kept
  bool refuses = false, ignores = false;  ///< every received configuration
  bool rolls_back_versions = false;

 private:
  std::int64_t measure(const ScheduleConfig& config) {
    const double noise = std::lognormal_distribution<>(0, 0.01)(random_);
    return static_cast<std::int64_t>(time_of_(config) * noise);
  }

  void take(const FeedEvent& event) {
    const auto message =
        must(daemon_message_from_json(event.type, nlohmann::json::parse(event.data)));
    if (const auto* version = std::get_if<ConfigMessage>(&message)) {
      versions.push_back(version->version);
    } else if (const auto* candidate = std::get_if<CandidateMessage>(&message)) {
      offered.push_back(*candidate);
    }
    if (ignores) return;
    std::visit([this](const auto& one) { try_it(one); }, message);
  }

  void try_it(const ProfileMessage&) {}

  void try_it(const CandidateMessage& candidate) {
    if (decided_.contains(candidate.trial)) return;
    decided_.insert(candidate.trial);
    ChangeOutcome outcome{.trial = candidate.trial};
    if (refuses || candidate.config == config()) {
      outcome.status = ChangeStatus::rejected;
      outcome.message = refuses ? "a rank refused it" : "it is what the job runs with";
    } else {
      measure_window(candidate.config, outcome);
      if (outcome.status == ChangeStatus::applied) {
        description_.version = 0;
        kept.push_back(candidate.config);
      }
    }
    outcomes_.push_back(outcome);
  }

  void try_it(const ConfigMessage& version) {
    ChangeOutcome outcome{.version = version.version};
    if (refuses) {
      outcome.status = ChangeStatus::rejected;
      outcome.message = "a rank refused it";
    } else if (version.config != config()) {
      measure_window(version.config, outcome);
    }
    if (outcome.status == ChangeStatus::applied) {
      description_.version = version.version;
      kept.push_back(version.config);
    }
    outcomes_.push_back(outcome);
  }

  void measure_window(const ScheduleConfig& other, ChangeOutcome& outcome) {
    for (int i = 0; i < 8; ++i) {
      outcome.current_ns.push_back(measure(config()));
      outcome.candidate_ns.push_back(measure(other));
    }
    const auto of = [](const std::vector<std::int64_t>& ns) {
      return median({ns.begin(), ns.end()});
    };
    const double ratio = of(outcome.candidate_ns) / of(outcome.current_ns);
    // A candidate must gain; a version must not lose.
    const bool keep = outcome.trial ? ratio < 0.98 : ratio < 1.02 && !rolls_back_versions;
    outcome.status = keep ? ChangeStatus::applied : ChangeStatus::rolled_back;
    outcome.message = keep ? "faster" : "slower";
    if (keep) description_.config = other;
    outcome.slower = !keep && ratio > 1;
    if (outcome.trial && ratio > 1) slower.push_back(other);
  }

  void report(std::vector<std::int64_t> times, bool ended = false) {
    const JobReport report{.job = id(),
                           .version = version(),
                           .step = ++step_,
                           .iteration_ns = std::move(times),
                           .outcomes = std::exchange(outcomes_, {}),
                           .explored = 0,
                           .ended = ended};
    daemon_->ask("POST", "/v1/reports", to_json(report), authorization);
  }

  JobDescription description_;
  TimeOf time_of_;
  std::mt19937_64 random_;
  Assembled* daemon_ = nullptr;
  std::vector<EventStream::Topic> topics_;
  std::shared_ptr<const StreamHold> hold_;  // of its stream
  std::set<std::int64_t> decided_;
  std::vector<ChangeOutcome> outcomes_;
  std::int64_t step_ = 0;
};

}  // namespace hocket
