#pragma once

// Observes a Plan's inputs and decisions in order. The tape (core/tape/tape.h) records them; a
// replay compares them.

#include <cstdint>
#include <span>
#include <string_view>

#include "core/step/task.h"

namespace hocket {

class CapturedStep;
struct PlanOptions;

/// A submitted task.
struct SubmittedTask {
  TaskId id;
  std::string_view name;
  std::uint32_t priority = 0;
  std::span<const Access> accesses;
  bool is_collective = false;
  /// Size of the collective; 0 for a compute task.
  std::int64_t bytes = 0;
  TaskLane lane = TaskLane::stream;
};

/// Called by a Plan, never by two threads at once.
class PlanObserver {
 public:
  virtual ~PlanObserver() = default;

  /// Reports that the plan's options have changed.
  virtual void configured(const PlanOptions& options) = 0;
  virtual void submitted(const SubmittedTask& task) = 0;
  /// Reports a launch of a captured step; its task i has the id step.id_of(i, first).
  virtual void launched(const CapturedStep& step, TaskId first) = 0;
  /// Reports that the parts of these collectives start next, one entry per part.
  virtual void announced(std::span<const std::uint64_t> collectives) = 0;
  /// Reports that all dependencies of the task are finished.
  virtual void ready(TaskId task) = 0;
  /// Reports that a compute task was handed out.
  virtual void started(TaskId task) = 0;
  /// Reports that a part of a collective was handed out.
  virtual void started_part(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) = 0;
  virtual void finished(TaskId task) = 0;
  virtual void finished_part(TaskId task, std::int64_t bytes) = 0;
  /// Replaces finished_part() for an executor that issues ahead. The observer does not see when the
  /// credit returns, so such a plan can be observed, but not replayed from the observations.
  virtual void issued_part(TaskId) {}
};

}  // namespace hocket
