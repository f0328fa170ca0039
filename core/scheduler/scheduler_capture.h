#pragma once

// What a Scheduler keeps of a captured step. Private to it.

#include <memory>
#include <span>
#include <vector>

#include "core/plan/captured_step.h"
#include "core/scheduler/scheduler.h"

namespace hocket {

/// A captured step: the structure, which plans share, and its bodies.
class Scheduler::Capture {
 public:
  void add(Submission submission, std::span<const Access> accesses);

  std::vector<CapturedStep::Task> tasks;  // until it is captured
  std::shared_ptr<const CapturedStep> step;
  std::vector<Payload> payloads;  // as submitted until it is captured, then by slot

  /// What partitioning a task needs beside; in the order of submission.
  struct Divisible {
    TaskOptions options;
    std::shared_ptr<const PieceBody> pieces;
  };
  std::vector<Divisible> divisible;
};

}  // namespace hocket
