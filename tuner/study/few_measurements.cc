#include "tuner/study/few_measurements.h"

#include "tuner/trial/early_end.h"
#include "tuner/trial/warm_up.h"

namespace hocket {
namespace {

/// With fewer measurements of the default a share says nothing.
constexpr std::size_t kLeastOfDefault = 4;
constexpr double kAboutAsLong = 0.8;

double wall_ns(const TrialOutcome& outcome) {
  const auto found = outcome.metrics.find("wall_ns");
  return found == outcome.metrics.end() || found->second.empty() ? 0 : found->second.front();
}

}  // namespace

std::optional<std::string> few_measurements(const TrialOutcome& first, const TrialOutcome& outcome,
                                            Direction direction) {
  if (first.state != TrialState::complete || outcome.state != TrialState::complete ||
      outcome.metrics.contains(kEndedEarlyMetric)) {
    return std::nullopt;
  }
  const std::size_t usual = whole_run(first).size(), own = whole_run(outcome).size();
  if (usual < kLeastOfDefault || 2 * own >= usual) return std::nullopt;
  const bool is_slower = cost(*outcome.value, direction) > cost(*first.value, direction);
  const double usual_ns = wall_ns(first);
  if (is_slower && usual_ns > 0 && wall_ns(outcome) >= kAboutAsLong * usual_ns) return std::nullopt;
  return "it delivered " + std::to_string(own) + " measurements, and the default " +
         std::to_string(usual) +
         ": it may have died before its end, which a pipe hides (set -o pipefail); where a setting "
         "may deliver fewer, as with a larger batch, say --allow-fewer";
}

}  // namespace hocket
