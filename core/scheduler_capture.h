#pragma once

// What a Scheduler keeps of a captured step. Private to it.

#include <memory>
#include <vector>

#include "core/captured_step.h"
#include "core/scheduler.h"

namespace hocket {

/// A captured step: the structure, which plans share, and its bodies.
class Scheduler::Capture {
 public:
  std::vector<CapturedStep::Task> tasks;  // until it is captured
  std::shared_ptr<const CapturedStep> step;
  std::vector<Payload> payloads;  // as submitted until it is captured, then by slot
};

}  // namespace hocket
