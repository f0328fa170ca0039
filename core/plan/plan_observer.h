#pragma once

// Observes a Plan's inputs and decisions in order. The tape (core/tape/tape.h) records them; a
// replay compares them.

#include <cstdint>
#include <span>
#include <string_view>

#include "core/step/task.h"
#include "core/step/task_communication.h"

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
  /// For a collective or message.
  TaskCommunication communication = {};
};

/// Called by a Plan, never by two threads at once. An observer overrides what it wants to know.
class PlanObserver {
 public:
  virtual ~PlanObserver() = default;

  /// Reports that the plan's options have changed.
  virtual void configured(const PlanOptions&) {}
  virtual void submitted(const SubmittedTask&) {}
  /// Reports a launch of a captured step; its task i has the id step.id_of(i, first).
  virtual void launched(const CapturedStep& /*step*/, TaskId /*first*/) {}
  /// Reports that the parts of these collectives start next, one entry per part.
  virtual void announced(std::span<const std::uint64_t> /*collectives*/) {}
  /// Reports that all dependencies of the task are finished.
  virtual void ready(TaskId) {}
  /// Reports that a compute task was handed out.
  virtual void started(TaskId) {}
  /// Reports that a part of a collective was handed out.
  virtual void started_part(TaskId, std::int64_t /*offset_bytes*/, std::int64_t /*bytes*/) {}
  virtual void finished(TaskId) {}
  virtual void finished_part(TaskId, std::int64_t /*bytes*/) {}
  /// Replace finished_part() where there are parameter servers; started_part() is the push's start.
  virtual void finished_push(TaskId, std::int64_t /*offset_bytes*/, std::int64_t /*bytes*/) {}
  /// Reports that a server has the sum of a part.
  virtual void summed(TaskId, std::int64_t /*offset_bytes*/, std::int64_t /*bytes*/) {}
  /// Reports that a part was handed out to be pulled.
  virtual void started_pull(TaskId, std::int64_t /*offset_bytes*/, std::int64_t /*bytes*/) {}
  virtual void finished_pull(TaskId, std::int64_t /*bytes*/) {}
  /// Replaces finished_part() for an executor that issues ahead. The observer does not see when the
  /// credit returns, so such a plan can be observed, but not replayed from the observations.
  virtual void issued_part(TaskId) {}
};

}  // namespace hocket
