#include "tuner/trial/objective.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/base/printable_text.h"
#include "core/base/statistics.h"
#include "core/base/trimmed_text.h"
#include "tuner/trial/line_matcher.h"
#include "tuner/trial/nearest_lines.h"

namespace hocket {
namespace {

constexpr std::size_t kMetricQuoteBytes = 60;
constexpr std::size_t kNearLines = 3;

std::string quoted_metric(std::string_view text) {
  std::string result = "\"";
  result += printable(text, kMetricQuoteBytes);
  result += '"';
  return result;
}

Measurement measurement(std::vector<double> samples) {
  const double middle = median(samples);
  const double width = spread(samples);
  return {middle, width, std::move(samples)};
}

Result<Measurement> from_report(const std::optional<RunReport>& report) {
  if (!report) return invalid("the job wrote no report to the file that HOCKET_REPORT names");
  if (report->iterations.empty()) return invalid("the job's report has no iteration");
  std::vector<double> samples;
  for (const auto& iteration : report->iterations) {
    samples.push_back(static_cast<double>(iteration.wall_ns));
  }
  return measurement(std::move(samples));
}

/// Says that `pattern` fits no line, and what it may have been meant to fit.
Error no_match(const std::string& pattern, const Evidence& evidence) {
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

Result<Measurement> from_output(const std::string& pattern, std::size_t skip,
                                const Evidence& evidence) {
  const auto matcher = LineMatcher::make(pattern);
  HOCKET_TRY(matcher);
  auto matches = matcher->first_groups(evidence.stdout_text);
  if (matches.empty()) matches = matcher->first_groups(evidence.stderr_text);
  if (matches.empty()) return failure(no_match(pattern, evidence));
  if (matches.size() <= skip) {
    return invalid(std::to_string(matches.size()) + " matches of " + pattern +
                   ", all among the first " + std::to_string(skip) + ", which are skipped");
  }
  std::vector<double> samples;
  for (std::size_t i = skip; i < matches.size(); ++i) {
    const auto sample = parse_sample(matches[i]);
    if (!sample) {
      return failure(sample.error().in("match " + std::to_string(i + 1) + " of " + pattern));
    }
    samples.push_back(*sample);
  }
  return measurement(std::move(samples));
}

Result<Measurement> from_file(const std::string& path, const std::optional<std::string>& text) {
  if (!text) return invalid("the command wrote no file " + path);
  auto numbers = parse_numbers(*text);
  if (!numbers) return failure(numbers.error().in("file " + path));
  if (numbers->empty()) return invalid("file " + path + ": expected a number, found nothing");
  return measurement(std::move(*numbers));
}

}  // namespace

Result<Objective> parse_objective(std::string_view text) {
  if (text == "auto") return Objective{ObjectiveKind::automatic, ""};
  if (text == "wall") return Objective{ObjectiveKind::wall, ""};
  if (text == "memory") return Objective{ObjectiveKind::memory, ""};
  if (text == "report") return Objective{ObjectiveKind::report, ""};
  if (text.starts_with("regex:")) {
    std::string pattern(text.substr(6));
    const auto matcher = LineMatcher::make(pattern);
    if (!matcher) return failure(matcher.error().in("objective"));
    return Objective{ObjectiveKind::regex, std::move(pattern)};
  }
  if (text.starts_with("file:")) {
    if (text.size() == 5) return invalid("objective: file: needs a path");
    return Objective{ObjectiveKind::file, std::string(text.substr(5))};
  }
  return invalid(
      "objective: expected auto, wall, memory, report, regex:PATTERN or file:PATH, found " +
      quoted_metric(text));
}

std::string to_text(const Objective& objective) {
  switch (objective.kind) {
    case ObjectiveKind::automatic:
      return "auto";
    case ObjectiveKind::wall:
      return "wall";
    case ObjectiveKind::memory:
      return "memory";
    case ObjectiveKind::report:
      return "report";
    case ObjectiveKind::regex:
      return "regex:" + objective.argument;
    case ObjectiveKind::file:
      return "file:" + objective.argument;
  }
  return {};
}

Result<Measurement> evaluate(const Objective& objective, std::size_t skip,
                             const Evidence& evidence) {
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
      return from_output(objective.argument, skip, evidence);
    case ObjectiveKind::file:
      return from_file(objective.argument, evidence.file_text);
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
