#include "tuner/trial/limit.h"

#include <utility>

#include "core/base/printable_text.h"
#include "tuner/space/params.h"
#include "tuner/trial/objective_unit.h"

namespace hocket {
namespace {

constexpr std::string_view kAtMost = "<=";
constexpr std::size_t kLimitQuoteBytes = 60;

std::string measured_name(const Objective& objective) {
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

Result<Limit> parse_limit(std::string_view text) {
  const auto refuse = [&](const std::string& why) {
    return failure(ErrorCode::invalid_argument,
                   "limit \"" + printable(text, kLimitQuoteBytes) + "\": " + why);
  };
  // Searches for the last "<=": a pattern may contain others, a number may not.
  const auto at = text.rfind(kAtMost);
  if (at == std::string_view::npos) {
    return refuse("expected OBJECTIVE<=NUMBER, such as memory<=4G or wall<=60s");
  }
  auto objective = parse_objective(text.substr(0, at));
  if (!objective) return refuse(objective.error().message);
  if (objective->kind == ObjectiveKind::automatic) {
    return refuse("auto may be one thing or another; name wall or report");
  }
  const auto bound = parse_value(text.substr(at + kAtMost.size()), unit_of(*objective));
  if (!bound) return refuse(bound.error().message);
  return Limit{std::move(*objective), *bound};
}

std::string to_text(const Limit& limit) {
  return to_text(limit.objective) + std::string(kAtMost) + to_text(ParameterValue(limit.bound));
}

std::string readable(const Limit& limit) {
  return to_text(limit.objective) + std::string(kAtMost) +
         value_text(limit.bound, unit_of(limit.objective));
}

std::optional<std::string> problem(const Limit& limit, std::size_t skip, const Evidence& evidence) {
  const auto measured = evaluate(limit.objective, skip, evidence);
  if (!measured) return "limit " + readable(limit) + ": " + measured.error().message;
  if (measured->value <= limit.bound) return std::nullopt;
  const Unit unit = unit_of(limit.objective);
  return measured_name(limit.objective) + " " + value_text(measured->value, unit) +
         " is over the limit of " + value_text(limit.bound, unit);
}

}  // namespace hocket
