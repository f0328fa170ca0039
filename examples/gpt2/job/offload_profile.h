#pragma once

// Profiles steps that are placed on a device with limited memory and its host
// (core/placement/step_placement.h), and describes the step that the job submits: the times of its
// tasks on either side, and the cost of copies.
//
// An OffloadProfile is thread-safe as PlanObserver and TraceSink require; the functions are pure.

#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_set>
#include <vector>

#include "core/base/result.h"
#include "core/step/step_description.h"
#include "profiler/calibration/step_profile.h"

namespace hocket {

struct CopyTime {
  bool to_device = false;
  std::int64_t bytes = 0, duration_ns = 0;
};

/// Steps of one placement.
struct OffloadedSteps {
  std::int64_t offload_k = 0;
  std::vector<ProfiledStep> steps;  ///< without copies
  std::vector<CopyTime> copies;
};

/// A StepProfile of the tasks that the job submitted, and the times of copies apart from them.
class OffloadProfile final : public PlanObserver, public TraceSink {
 public:
  void configured(const PlanOptions&) override {}
  void submitted(const SubmittedTask& task) override;
  void launched(const CapturedStep& step, TaskId first) override { tasks_.launched(step, first); }
  void announced(std::span<const std::uint64_t>) override {}
  void ready(TaskId) override {}
  void started(TaskId) override {}
  void started_part(TaskId, std::int64_t, std::int64_t) override {}
  void finished(TaskId) override {}
  void finished_part(TaskId, std::int64_t) override {}
  void record(const TraceEvent& event) override;

  /// Appends the steps that have ended, without the first, to `profiled`, and all copies but those
  /// of the first step.
  void take(OffloadedSteps& profiled) const;

 private:
  StepProfile tasks_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::vector<CopyTime> copies_;
};

/// Returns the cost of a copy in one direction: a straight line through the median times of each
/// size, by least squares; all zero without copies.
PartCost fit_copy_cost(std::span<const CopyTime> copies, bool to_device);

/// Returns `step` with the times of its updates on the device and on the host, as measured by
/// `profiled`. What ran on one side only has a time on the other side from the rate of the updates
/// that ran there, or its own where none did. Returns invalid_argument as describe_step() does.
Result<StepDescription> with_update_times(StepDescription step,
                                          std::span<const OffloadedSteps> profiled);

}  // namespace hocket
