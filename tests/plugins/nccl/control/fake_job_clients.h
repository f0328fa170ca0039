#pragma once

// Jobs in memory, whose wishes the test sets. One thread.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugins/nccl/control/job_client.h"

namespace hocket::nccl {

/// One job as a test sees it, and the answers that the test gives for it.
struct FakeJob {
  ClassJob description;
  Choice choice = {};
  bool is_trying = false;
  bool is_open = true;
  std::vector<std::int64_t> iterations_ns = {};
  std::vector<ClassMeasurement> measurements = {};
  std::vector<double> costs_percent = {};
  std::vector<std::vector<std::int64_t>> waited_ns = {};
  std::int64_t wanted_profile = 0;
  std::vector<std::vector<std::string>> profiles = {};
  /// Called after each iteration, to change what the job wants.
  std::function<void(FakeJob&)> after_iteration = [](FakeJob&) {};
};

class FakeJobClients final : public JobClients {
 public:
  std::unique_ptr<JobClient> open(const ClassJob& job) override {
    if (refuses) return nullptr;
    auto& place = jobs[to_string(job.of)];
    place = std::make_shared<FakeJob>();
    place->description = job;
    if (const auto first = starts.find(to_string(job.of)); first != starts.end())
      place->choice = first->second;
    return std::make_unique<Client>(place);
  }

  std::map<std::string, std::shared_ptr<FakeJob>> jobs;
  std::map<std::string, Choice> starts;  ///< choices with which jobs start
  bool refuses = false;

 private:
  class Client final : public JobClient {
   public:
    explicit Client(std::shared_ptr<FakeJob> job) : job_(std::move(job)) {}
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client() override { job_->is_open = false; }
    Choice choice() const override { return job_->choice; }
    bool is_trying() const override { return job_->is_trying; }
    void iteration_ended(std::int64_t iteration_ns) override {
      job_->iterations_ns.push_back(iteration_ns);
      job_->after_iteration(*job_);
    }
    void measured(const ClassMeasurement& measurement) override {
      job_->measurements.push_back(measurement);
    }
    void costs(double percent) override { job_->costs_percent.push_back(percent); }
    void waited(const std::vector<std::vector<std::int64_t>>& waited_ns) override {
      job_->waited_ns = waited_ns;
    }
    std::int64_t take_profile_request() override { return std::exchange(job_->wanted_profile, 0); }
    void save_profile(const std::vector<std::string>& traces) override {
      job_->profiles.push_back(traces);
    }

   private:
    std::shared_ptr<FakeJob> job_;
  };
};

}  // namespace hocket::nccl
