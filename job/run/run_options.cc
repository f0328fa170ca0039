#include "job/run/run_options.h"

#include "client/link/environment.h"
#include "job/run/job_profile.h"
#include "job/training/step_measurement.h"

namespace hocket {

Result<void> check_steps(const RunOptions& options) {
  if (!options.profile.empty() && options.steps < kMinProfiledSteps) {
    return invalid("--steps: " + std::to_string(options.steps) +
                   " steps are too few for a profile; ask for at least " +
                   std::to_string(kMinProfiledSteps));
  }
  if (options.steps < options.warmup + 2) {
    return invalid("--steps: " + std::to_string(options.steps) +
                   " steps leave nothing to measure after " + std::to_string(options.warmup) +
                   " of warm-up and the last; ask for at least " +
                   std::to_string(options.warmup + 2));
  }
  return {};
}

bool is_live(const RunOptions& options) {
  return options.watch || options.profile_on_request;
}

bool takes_requests(const RunOptions& options) {
  return is_live(options) && options.record.empty();
}

std::string level_to_profile(const RunOptions& options) {
  const auto asked = process_environment("HOCKET_PROFILE");
  const bool may_profile =
      options.profiled.first_step >= 0 || (asked && !asked->empty()) || takes_requests(options);
  return may_profile ? options.profile_level : "";
}

std::optional<ProfileSpan> span_to_profile(const RunOptions& options,
                                           const std::function<void(const std::string&)>& warn) {
  const auto text = process_environment("HOCKET_PROFILE");
  if (options.profiled.first_step < 0 && (!text || text->empty())) return std::nullopt;
  if (!options.record.empty()) {
    warn("no profile: --record is the scheduler's only observer");
    return std::nullopt;
  }
  if (options.profiled.first_step >= 0) return options.profiled;
  const auto span = parse_profile_span(*text);
  if (span) return *span;
  warn("no profile: HOCKET_PROFILE: " + span.error().message);
  return std::nullopt;
}

}  // namespace hocket
