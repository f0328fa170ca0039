#pragma once

// Watches a Plan: what it was told and what it decided, in order. The tape (core/tape/tape.h)
// writes it down, a replay compares it.

#include <cstdint>
#include <span>
#include <string_view>

#include "core/step/task.h"

namespace hocket {

class CapturedStep;
struct PlanOptions;

/// A task as it was submitted.
struct SubmittedTask {
  TaskId id;
  std::string_view name;
  std::uint32_t priority = 0;
  std::span<const Access> accesses;
  bool is_collective = false;
  std::int64_t bytes = 0;  ///< of a collective
};

/// Called by a Plan, never at once from two threads.
class PlanObserver {
 public:
  virtual ~PlanObserver() = default;

  /// The plan's options have changed.
  virtual void configured(const PlanOptions& options) = 0;
  virtual void submitted(const SubmittedTask& task) = 0;
  /// A captured step was submitted once more; its task i has the id step.id_of(i, first).
  virtual void launched(const CapturedStep& step, TaskId first) = 0;
  /// These collectives' parts start next.
  virtual void announced(std::span<const std::uint64_t> collectives) = 0;
  /// All that the task depends on is finished.
  virtual void ready(TaskId task) = 0;
  /// A compute task was handed out.
  virtual void started(TaskId task) = 0;
  /// A part of a collective was handed out.
  virtual void started_part(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) = 0;
  virtual void finished(TaskId task) = 0;
  virtual void finished_part(TaskId task, std::int64_t bytes) = 0;
  /// In place of finished_part() for an executor that issues ahead. When its credit returns is not
  /// told: such a plan can be watched, but not replayed from what its observer saw.
  virtual void issued_part(TaskId) {}
};

}  // namespace hocket
