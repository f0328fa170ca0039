#pragma once

// The seam between a study and whatever runs one trial (tuner/trial/trial.h) at a time. A runner
// belongs to one thread at a time.

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/protocol/trial_outcome.h"
#include "tuner/space/params.h"

namespace hocket {

/// Runs trials, one at a time.
class TrialRunner {
 public:
  virtual ~TrialRunner() = default;

  /// `incumbent` holds the samples of the best trial so far, those of its warm-up included: a trial
  /// that is clearly slower may end before its time (tuner/trial/early_end.h) and is complete with
  /// what it has; empty: it runs to its end. A trial that fails is an outcome. An error means that
  /// the study cannot go on: the command cannot be started, or (interrupted) the user asked for an
  /// end.
  /// `number` is the trial's own in its study, from 1.
  virtual Result<TrialOutcome> run(const Params& params, std::span<const double> incumbent,
                                   std::int64_t number) = 0;
};

}  // namespace hocket
