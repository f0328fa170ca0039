#include "tuner/trial/limit.h"

#include <utility>

#include "core/base/text.h"
#include "tuner/space/params.h"
#include "tuner/trial/objective_unit.h"

namespace hocket {
namespace {

constexpr std::string_view kAtMost = "<=", kAtLeast = ">=";
constexpr std::size_t kLimitQuoteBytes = 60;

std::string_view sign_of(const MetricLimit& limit) {
  return limit.is_least ? kAtLeast : kAtMost;
}

std::string measured_name(const Objective& objective) {
  if (!objective.name.empty()) return objective.name;
  switch (objective.kind) {
    case ObjectiveKind::wall:
      return "wall time";
    case ObjectiveKind::report:
      return "iteration time";
    case ObjectiveKind::memory:
      return "peak memory";
    case ObjectiveKind::automatic:
    case ObjectiveKind::regex:
    case ObjectiveKind::file:
      break;
  }
  return to_text(objective);
}

}  // namespace

Result<MetricLimit> parse_limit(std::string_view text) {
  const auto refuse = [&](const std::string& why) {
    return failure(ErrorCode::invalid_argument,
                   "limit \"" + printable(text, kLimitQuoteBytes) + "\": " + why);
  };
  // Searches for the last sign: a pattern may contain others, a number may not.
  const auto end = text.rfind('=');
  const auto at = end == std::string_view::npos || end == 0 ? 0 : end - 1;
  const auto sign = text.substr(at, kAtMost.size());
  if (sign != kAtMost && sign != kAtLeast) {
    return refuse(
        "expected OBJECTIVE<=NUMBER or OBJECTIVE>=NUMBER, such as memory<=4G or "
        "regex:tok/s=([0-9.]+)>=900");
  }
  auto objective = parse_objective(text.substr(0, at));
  if (!objective) return refuse(objective.error().message);
  if (objective->kind == ObjectiveKind::automatic) {
    return refuse("auto may be one thing or another; name wall or report");
  }
  if (objective->direction == Direction::maximise)
    return refuse("a limit has no max:; write >= for a least value");
  const auto bound = parse_value(text.substr(at + kAtMost.size()), unit_of(*objective));
  if (!bound) return refuse(bound.error().message);
  return MetricLimit{std::move(*objective), *bound, sign == kAtLeast};
}

std::string to_text(const MetricLimit& limit) {
  return to_text(limit.objective) + std::string(sign_of(limit)) +
         to_text(ParameterValue(limit.bound));
}

std::string readable(const MetricLimit& limit) {
  const Objective& objective = limit.objective;
  return (objective.name.empty() ? to_text(objective) : objective.name) +
         std::string(sign_of(limit)) + value_text(limit.bound, unit_of(objective));
}

std::optional<std::string> limit_problem(const MetricLimit& limit, std::size_t skip,
                                         const TrialEvidence& evidence) {
  const auto measured = evaluate_objective(limit.objective, skip, evidence);
  if (!measured) return "limit " + readable(limit) + ": " + measured.error().message;
  const bool is_within =
      limit.is_least ? measured->value >= limit.bound : measured->value <= limit.bound;
  if (is_within) return std::nullopt;
  const ObjectiveUnit unit = unit_of(limit.objective);
  return measured_name(limit.objective) + " " + value_text(measured->value, unit) +
         (limit.is_least ? " is under" : " is over") + " the limit of " +
         value_text(limit.bound, unit);
}

}  // namespace hocket
