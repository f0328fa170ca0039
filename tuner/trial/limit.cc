#include "tuner/trial/limit.h"

#include <utility>

#include "core/base/text.h"
#include "tuner/space/params.h"
#include "tuner/trial/objective_unit.h"
#include "tuner/trial/output/line_matcher.h"

namespace hocket {
namespace {

constexpr std::string_view kAtMost = "<=", kAtLeast = ">=", kNever = "never:";
constexpr std::size_t kLimitQuoteBytes = 60;

std::string_view sign_of(const MetricLimit& limit) {
  return limit.is_least ? kAtLeast : kAtMost;
}

/// A matcher that needs no group in `pattern`.
Result<LineMatcher> matcher_of(const std::string& pattern) {
  return LineMatcher::make("(" + pattern + ")");
}

std::optional<std::string> forbidden_problem(const std::string& pattern,
                                             const TrialEvidence& evidence) {
  const auto matcher = matcher_of(pattern);
  if (!matcher) return matcher.error().message;
  for (const std::string* text : {&evidence.stdout_text, &evidence.stderr_text}) {
    if (const auto matches = matcher->matches(*text); !matches.empty()) {
      return "it printed \"" + printable(matches.front().group, kLimitQuoteBytes) +
             "\", which must never occur";
    }
  }
  return std::nullopt;
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
  if (text.starts_with(kNever)) {
    const std::string pattern(text.substr(kNever.size()));
    if (pattern.empty()) return refuse("never: needs a pattern, such as never:out of memory");
    if (const auto matcher = matcher_of(pattern); !matcher) return refuse(matcher.error().message);
    MetricLimit limit;
    limit.objective = {.kind = ObjectiveKind::regex, .argument = pattern};
    limit.is_forbidden = true;
    return limit;
  }
  // Searches for the last sign: a pattern may contain others, a number may not.
  const auto end = text.rfind('=');
  const auto at = end == std::string_view::npos || end == 0 ? 0 : end - 1;
  const auto sign = text.substr(at, kAtMost.size());
  if (sign != kAtMost && sign != kAtLeast) {
    return refuse(
        "expected OBJECTIVE<=NUMBER, OBJECTIVE>=NUMBER or never:PATTERN, such as memory<=4G, "
        "regex:tok/s=([0-9.]+)>=900 or never:out of memory");
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
  return MetricLimit{std::move(*objective), *bound, sign == kAtLeast, false};
}

std::string to_text(const MetricLimit& limit) {
  if (limit.is_forbidden) return std::string(kNever) + limit.objective.argument;
  return to_text(limit.objective) + std::string(sign_of(limit)) +
         to_text(ParameterValue(limit.bound));
}

std::string readable(const MetricLimit& limit) {
  if (limit.is_forbidden) return to_text(limit);
  const Objective& objective = limit.objective;
  return (objective.name.empty() ? to_text(objective) : objective.name) +
         std::string(sign_of(limit)) + value_text(limit.bound, unit_of(objective));
}

std::optional<std::string> limit_problem(const MetricLimit& limit, std::size_t skip,
                                         const TrialEvidence& evidence) {
  if (limit.is_forbidden) return forbidden_problem(limit.objective.argument, evidence);
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
