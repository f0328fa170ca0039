#include "tuner/trial/objective.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/base/statistics.h"
#include "core/base/text.h"
#include "tuner/trial/output/line_matcher.h"
#include "tuner/trial/output/nearest_lines.h"

namespace hocket {
namespace {

constexpr std::size_t kMetricQuoteBytes = 60, kUnitLimitBytes = 40, kNearLines = 3;

constexpr std::array<std::pair<ObjectiveKind, std::string_view>, 4> kPlainKinds = {
    {{ObjectiveKind::automatic, "auto"},
     {ObjectiveKind::wall, "wall"},
     {ObjectiveKind::memory, "memory"},
     {ObjectiveKind::report, "report"}}};

std::string quoted_metric(std::string_view text) {
  std::string result = "\"";
  result += printable(text, kMetricQuoteBytes);
  result += '"';
  return result;
}

ObjectiveMeasurement measurement(std::vector<double> samples) {
  const double middle = median(samples);
  const double width = spread(samples);
  return {middle, width, std::move(samples)};
}

Result<ObjectiveMeasurement> from_report(const std::optional<RunReport>& report) {
  if (!report) return invalid("the job wrote no report to the file that HOCKET_REPORT names");
  if (report->iterations.empty()) return invalid("the job's report has no iteration");
  std::vector<double> samples;
  for (const auto& iteration : report->iterations) {
    samples.push_back(static_cast<double>(iteration.wall_ns));
  }
  return measurement(std::move(samples));
}

/// Says that `pattern` fits no line, and what it may have been meant to fit.
Error no_match(const std::string& pattern, const TrialEvidence& evidence) {
  const std::size_t bytes = evidence.stdout_text.size() + evidence.stderr_text.size();
  Error error{ErrorCode::invalid_argument, "no match of " + pattern};
  if (bytes == 0) {
    error.message += ": the command printed nothing";
    return error;
  }
  error.message += " in " + std::to_string(bytes) + " bytes of output";
  auto near = nearest_lines(pattern, evidence.stdout_text, kNearLines);
  if (near.empty()) near = nearest_lines(pattern, evidence.stderr_text, kNearLines);
  for (std::size_t i = 0; i < near.size(); ++i)
    error.message += (i > 0              ? ", \""
                      : near.size() == 1 ? "; this line nearly fits: \""
                                         : "; these lines nearly fit: \"") +
                     near[i] + '"';
  return error;
}

Result<ObjectiveMeasurement> from_output(const std::string& pattern, std::size_t skip,
                                         const TrialEvidence& evidence,
                                         std::optional<NumberUnit>& unit) {
  const auto matcher = LineMatcher::make(pattern);
  HOCKET_TRY(matcher);
  auto matches = matcher->matches(evidence.stdout_text);
  if (matches.empty()) matches = matcher->matches(evidence.stderr_text);
  if (matches.empty()) return failure(no_match(pattern, evidence));
  if (matches.size() <= skip) {
    return invalid(std::to_string(matches.size()) + " matches of " + pattern +
                   ", all among the first " + std::to_string(skip) + ", which are skipped");
  }
  auto samples = measured_samples(matches, skip, pattern, unit);
  HOCKET_TRY(samples);
  return measurement(std::move(*samples));
}

Result<ObjectiveMeasurement> from_file(const std::string& path, const TrialEvidence& evidence) {
  const auto& text = evidence.file_text;
  if (!text) {
    return invalid("the command wrote no file " + path +
                   (evidence.file_problem.empty() ? "" : ": " + evidence.file_problem));
  }
  auto numbers = parse_numbers(*text);
  if (!numbers) return failure(numbers.error().in("file " + path));
  if (numbers->empty()) return invalid("file " + path + ": expected a number, found nothing");
  return measurement(std::move(*numbers));
}

bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

/// Takes "NAME=" or "NAME[UNIT]=" from the front of `text`, if it begins so.
void take_name(std::string_view& text, Objective& objective) {
  const auto end = std::ranges::find_if_not(text, is_name_byte) - text.begin();
  std::string_view rest = text.substr(static_cast<std::size_t>(end));
  if (end == 0 || rest.empty()) return;
  std::string_view unit;
  if (rest.front() == '[') {
    const auto close = rest.find(']');
    if (close == std::string_view::npos || close == 1 || close > kUnitLimitBytes) return;
    unit = rest.substr(1, close - 1);
    rest.remove_prefix(close + 1);
  }
  if (!rest.starts_with('=')) return;
  objective.name = text.substr(0, static_cast<std::size_t>(end));
  objective.unit = unit;
  text = rest.substr(1);
}

/// Parses the kind and its argument into `objective`.
Result<void> parse_kind(std::string_view text, Objective& objective) {
  for (const auto& [kind, name] : kPlainKinds) {
    if (text != name) continue;
    objective.kind = kind;
    return {};
  }
  if (text.starts_with("regex:")) {
    objective.kind = ObjectiveKind::regex;
    objective.argument = text.substr(6);
    const auto matcher = LineMatcher::make(objective.argument);
    if (!matcher) return failure(matcher.error().in("objective"));
    return {};
  }
  if (text.starts_with("file:")) {
    if (text.size() == 5) return invalid("objective: file: needs a path");
    objective.kind = ObjectiveKind::file;
    objective.argument = text.substr(5);
    return {};
  }
  return invalid(
      "objective: expected auto, wall, memory, report, regex:PATTERN or file:PATH, with max: in "
      "front of what is maximised and NAME= or NAME[UNIT]= before a regex or a file, found " +
      quoted_metric(text));
}

std::string kind_text(const Objective& objective) {
  for (const auto& [kind, name] : kPlainKinds) {
    if (objective.kind == kind) return std::string(name);
  }
  return (objective.kind == ObjectiveKind::regex ? "regex:" : "file:") + objective.argument;
}

}  // namespace

Result<Objective> parse_objective(std::string_view text) {
  Objective objective;
  if (text.starts_with("max:")) objective.direction = Direction::maximise;
  if (text.starts_with("max:") || text.starts_with("min:")) text.remove_prefix(4);
  take_name(text, objective);
  HOCKET_TRY(parse_kind(text, objective));
  const bool is_own =
      objective.kind == ObjectiveKind::regex || objective.kind == ObjectiveKind::file;
  if (!is_own && !objective.unit.empty()) {
    return invalid("objective: " + std::string(text) + " has a unit of its own; leave [" +
                   objective.unit + "] out");
  }
  if (!is_own && objective.direction == Direction::maximise) {
    return invalid("objective: " + std::string(text) +
                   " is a cost and is minimised; what is maximised is max:regex:PATTERN or "
                   "max:file:PATH, such as max:regex:tokens_per_s=([0-9.]+)");
  }
  return objective;
}

std::string to_text(const Objective& objective) {
  std::string text = objective.direction == Direction::maximise ? "max:" : "";
  text += objective.name;
  if (!objective.unit.empty()) text += "[" + objective.unit + "]";
  if (!objective.name.empty()) text += "=";
  return text + kind_text(objective);
}

bool measures_same(const Objective& a, const Objective& b) {
  return a.kind == b.kind && a.argument == b.argument;
}

std::string label_of(const Objective& objective) {
  if (objective.name.empty()) return kind_text(objective);
  return objective.name + (objective.unit.empty() ? "" : " (" + objective.unit + ")");
}

Result<ObjectiveMeasurement> evaluate_objective(const Objective& objective, std::size_t skip,
                                                const TrialEvidence& evidence) {
  auto unit = number_unit(objective.unit);
  return evaluate_objective(objective, skip, evidence, unit);
}

Result<ObjectiveMeasurement> evaluate_objective(const Objective& objective, std::size_t skip,
                                                const TrialEvidence& evidence,
                                                std::optional<NumberUnit>& unit) {
  switch (objective.kind) {
    case ObjectiveKind::automatic:
      break;
    case ObjectiveKind::wall:
      return measurement({static_cast<double>(evidence.wall_ns)});
    case ObjectiveKind::memory:
      return measurement({static_cast<double>(evidence.peak_memory_bytes)});
    case ObjectiveKind::report:
      return from_report(evidence.report);
    case ObjectiveKind::regex:
      return from_output(objective.argument, skip, evidence, unit);
    case ObjectiveKind::file:
      return from_file(objective.argument, evidence);
  }
  HOCKET_CHECK(false, "an automatic objective is resolved before it is evaluated");
}

Result<double> parse_sample(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return invalid("expected a number, found " + quoted_metric(text));
  }
  if (!std::isfinite(number))
    return invalid("expected a finite number, found " + quoted_metric(text));
  if (number < 0) return invalid("expected a number of at least 0, found " + quoted_metric(text));
  return number;
}

Result<std::vector<double>> parse_numbers(std::string_view text) {
  std::vector<double> numbers;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    if (const auto line = trimmed(text.substr(0, end)); !line.empty()) {
      const auto number = parse_sample(line);
      HOCKET_TRY(number);
      numbers.push_back(*number);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return numbers;
}

}  // namespace hocket
