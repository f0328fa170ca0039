#include "tuner/trial.h"

#include "tuner/statistics.h"

namespace hocket {

TrialOutcome complete_trial(std::vector<double> samples) {
  TrialOutcome outcome;
  outcome.state = TrialState::complete;
  outcome.value = median(samples);
  outcome.spread = spread(samples);
  outcome.samples = std::move(samples);
  return outcome;
}

}  // namespace hocket
