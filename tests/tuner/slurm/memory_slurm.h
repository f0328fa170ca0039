#pragma once

// A Slurm in memory, whose tasks are as a test says, and which fails when a test says so. One
// thread.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/slurm/slurm.h"

namespace hocket {

class MemorySlurm final : public Slurm {
 public:
  Result<std::string> submit(const SlurmSubmission& submission) override {
    ++questions;
    if (refusal) return failure(*refusal);
    const std::string job_id = std::to_string(next_id++);
    submissions.push_back(submission);
    for (int index = 0; index < submission.tasks; ++index) {
      SlurmTask& task = arrays[job_id].emplace_back();
      task.index = index;
      task.job_id = job_id;
      set(task, SlurmState::pending, "PENDING");
    }
    return job_id;
  }

  Result<std::vector<SlurmTask>> tasks(const std::string& job_id) override {
    ++questions;
    if (outage) return failure(*outage);
    return arrays.at(job_id);
  }

  Result<void> cancel(const std::string& job_id) override {
    if (outage) return failure(*outage);
    cancelled.push_back(job_id);
    return {};
  }

  SlurmTask& task(const std::string& job_id, int index) {
    return arrays.at(job_id).at(static_cast<std::size_t>(index));
  }

  static void set(SlurmTask& task, SlurmState state, const std::string& text,
                  const std::string& reason = "") {
    task.state = state;
    task.state_text = text;
    task.reason = reason;
  }

  void run(const std::string& job_id, int index, const std::string& nodes) {
    set(task(job_id, index), SlurmState::running, "RUNNING");
    task(job_id, index).nodes = nodes;
  }

  void end(const std::string& job_id, int index, SlurmState state, const std::string& text,
           SlurmExit exit = {}) {
    set(task(job_id, index), state, text);
    task(job_id, index).exit = exit;
  }

  std::map<std::string, std::vector<SlurmTask>> arrays;
  std::vector<SlurmSubmission> submissions;
  std::vector<std::string> cancelled;
  std::optional<Error> refusal, outage;  ///< of submissions; of everything else
  int next_id = 12, questions = 0;
};

}  // namespace hocket
