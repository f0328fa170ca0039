#include "job/training/offloading.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/placement/described_placement.h"
#include "core/sim/offload/offload_choice.h"
#include "job/training/rank_zero.h"
#include "job/training/step_measurement.h"

namespace hocket {
namespace {

std::string milliseconds(std::int64_t ns) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f ms", static_cast<double>(ns) / 1e6);
  return text;
}

/// Returns the choice in words, beside the least and the most layers that fit.
std::string reason_for(const OffloadChoice& choice) {
  const OffloadCandidate& chosen = choice.chosen();
  std::string text = "offload_k " + std::to_string(chosen.offload_k) + ", prefetch_layers " +
                     std::to_string(chosen.prefetch_layers) + " (measured): predicted iteration " +
                     milliseconds(chosen.iteration_ns) + ", " + std::to_string(chosen.peak_bytes) +
                     " B of the device";
  const auto fits = [](const OffloadCandidate& each) { return each.fits(); };
  const auto fewest = std::ranges::find_if(choice.candidates, fits);
  const auto most = std::find_if(choice.candidates.rbegin(), choice.candidates.rend(), fits);
  const auto add = [&](const OffloadCandidate& other, const char* which) {
    if (other.offload_k == chosen.offload_k) return;
    text += "; with " + std::to_string(other.offload_k) + ", " + which + " that fit, " +
            milliseconds(other.iteration_ns);
  };
  add(*fewest, "the fewest");
  if (most->offload_k != fewest->offload_k) add(*most, "the most");
  return text;
}

}  // namespace

Result<void> check_placement(const Training& training, const ScheduleConfig& config) {
  const auto placed = place_description(described_step(training), config);
  HOCKET_TRY(placed);
  return {};
}

Result<PlacementValues> placement_values(const StepDescription& step,
                                         const ScheduleConfig& config) {
  const auto placed = place_description(step, config);
  HOCKET_TRY(placed);
  return PlacementValues{.peak_bytes = placed->placed.peak_bytes,
                         .limit_bytes = step.device_memory_bytes,
                         .layers = layers_of(step)};
}

Result<OffloadDecision> decide_offload(const Training& training, const ScheduleConfig& config,
                                       std::int64_t steps) {
  auto step = profile_placed_step(training, config, steps);
  OffloadDecision decision{
      .config = config, .measured = {.description = {}, .from_step = steps}, .reason = {}};
  nlohmann::json message;
  // Only rank 0's measurement counts, so the others hear of its failure, too.
  if (training.collective.rank() == 0) {
    const Result<OffloadChoice> choice =
        step ? choose_offload(*step, config) : failure(step.error());
    if (choice) {
      message = {{"offload_k", choice->chosen().offload_k},
                 {"prefetch_layers", choice->chosen().prefetch_layers}};
      decision.reason = reason_for(*choice);
      decision.measured.description = std::move(*step);
    } else {
      message = {{"error", choice.error().message},
                 {"is_refused", choice.error().code == ErrorCode::invalid_argument}};
    }
  }
  const auto told = broadcast(training.collective, std::move(message), "choice of offload_k");
  if (!told) return failure(step ? told.error() : step.error());
  if (told->contains("error")) {
    return failure((*told)["is_refused"] ? ErrorCode::invalid_argument : ErrorCode::unavailable,
                   (*told)["error"].get<std::string>());
  }
  decision.config.offload_k = (*told)["offload_k"];
  decision.config.prefetch_layers = (*told)["prefetch_layers"];
  return decision;
}

}  // namespace hocket
