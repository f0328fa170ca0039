#include "cli/views/explanation_view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "core/base/plain_text.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kReasonLimitBytes = 160, kExplanationViewNameLimitBytes = 60,
                      kParamsLimitBytes = 200;
/// Maximum lines of a table in plain text; JSON contains all.
constexpr std::size_t kMostSliceLines = 9, kMostTrialLines = 60;

void print_others(std::ostream& out, const std::vector<Objective>& others) {
  for (std::size_t i = 0; i < others.size(); ++i) {
    out << (i == 0 ? "explains the first objective, not " : ", ")
        << printable(label_of(others[i]), kExplanationViewNameLimitBytes);
  }
  if (!others.empty()) out << '\n';
}

void print_importance(std::ostream& out, const StudyExplanation& explained) {
  const Explanation& explanation = explained.explanation;
  out << "importance: shares of what the model varies by over the space, "
      << (explanation.relative ? percent_text(explanation.variation)
                               : value_text(explanation.variation, explained.unit))
      << " (standard deviation)\n";
  TextTable table({"parameter", "alone", "with others"});
  for (const auto& importance : explanation.importances) {
    table.add({printable(importance.name, kExplanationViewNameLimitBytes),
               percent_text(importance.alone), percent_text(importance.total)});
  }
  table.print(out);
  if (!(explanation.variation > 0)) out << "no parameter shows an effect\n";
}

void print_calibration(std::ostream& out, const StudyExplanation& explained) {
  const auto& calibration = explained.explanation.calibration;
  if (!calibration) {
    out << "predicted against measured: takes " << kFewestCalibrated << " to " << kMostCalibrated
        << " completed trials, of which there are " << explained.explanation.completed << '\n';
    return;
  }
  char correlation[32];
  std::snprintf(correlation, sizeof correlation, "%.2f", calibration->rank_correlation);
  out << "predicted against measured, each trial left out once: "
      << percent_text(calibration->coverage) << " within the 90 % interval, rank correlation "
      << correlation << '\n';
  TextTable table({"trial", "measured", "expected", "90 % interval"});
  for (const LeftOut& trial : calibration->trials) {
    const bool inside = trial.low <= trial.measured && trial.measured <= trial.high;
    table.add({std::to_string(trial.number), value_text(trial.measured, explained.unit),
               value_text(trial.expected, explained.unit),
               value_text(trial.low, explained.unit) + " to " +
                   value_text(trial.high, explained.unit) + (inside ? "" : "  outside")});
  }
  table.print(out);
}

/// Returns "× 1.25 (1.1 to 1.4)" for a factor, otherwise the number; the range is one deviation to
/// either side.
std::string constant_text(double mean, double deviation, bool is_factor) {
  const auto shown = [&](double value) { return is_factor ? std::exp(value) : value; };
  char text[96];
  std::snprintf(text, sizeof text, "%s%.3g (%.3g to %.3g)", is_factor ? "× " : "", shown(mean),
                shown(mean - deviation), shown(mean + deviation));
  return text;
}

const char* moved_text(const CalibratedConstant& constant) {
  const double moved = (constant.calibrated - constant.expected) / constant.expected_deviation;
  if (std::abs(moved) >= 2)
    return moved > 0 ? "much higher than expected" : "much lower than expected";
  if (std::abs(moved) >= 0.5) return moved > 0 ? "higher than expected" : "lower than expected";
  return constant.deviation > 0.8 * constant.expected_deviation ? "little learned" : "as expected";
}

void print_simulator(std::ostream& out, const StepCalibration& calibration) {
  out << "\nthe simulator that the search calibrated (one deviation to either side)\n";
  TextTable table({"constant", "before the trials", "after them", ""});
  for (const CalibratedConstant& constant : calibration.constants) {
    table.add({constant.meaning,
               constant_text(constant.expected, constant.expected_deviation, constant.is_factor),
               constant_text(constant.calibrated, constant.deviation, constant.is_factor),
               moved_text(constant)});
  }
  table.add({"noise between trials", percent_text(calibration.expected_noise),
             percent_text(calibration.noise), ""});
  table.add({"what the simulator gets wrong", percent_text(calibration.expected_discrepancy),
             percent_text(calibration.discrepancy), ""});
  table.print(out);
}

void print_slice(std::ostream& out, const BeliefSlice& slice, const ObjectiveUnit& unit) {
  TextTable table({printable(slice.name, kExplanationViewNameLimitBytes), "expected",
                   "one deviation", "completes"});
  const std::size_t lines = std::min(kMostSliceLines, slice.points.size());
  for (std::size_t i = 0; i < lines; ++i) {
    const std::size_t at = lines < 2 ? 0 : i * (slice.points.size() - 1) / (lines - 1);
    const BelievedPoint& point = slice.points[at];
    table.add({printable(to_text(point.value), kExplanationViewNameLimitBytes),
               value_text(point.expected, unit),
               value_text(point.low, unit) + " to " + value_text(point.high, unit),
               percent_text(point.completes)});
  }
  table.print(out);
}

void print_reasons(std::ostream& out, const StudyExplanation& explained) {
  if (explained.reasons.empty()) return;
  out << "\nwhy each trial was run\n";
  TextTable table({"trial", "value", "setting", "why"});
  const std::size_t lines = std::min(kMostTrialLines, explained.trials.size());
  for (std::size_t i = 0; i < lines; ++i) {
    const Trial& trial = explained.trials[i];
    table.add({std::to_string(shown_number(trial)),
               is_complete(trial) ? value_text(*trial.outcome.value, explained.unit) : "failed",
               printable(params_text(trial.params), kParamsLimitBytes),
               printable(explained.reasons[i], kReasonLimitBytes)});
  }
  table.print(out);
  if (lines < explained.trials.size()) out << "and so on; --json has all of them\n";
}

void print_rejected(std::ostream& out, const StudyExplanation& explained) {
  const Explanation& explanation = explained.explanation;
  out << "\nrejected: ";
  if (explanation.failed == 0) {
    out << "nothing, no trial failed\n";
    return;
  }
  out << percent_text(explanation.rejected)
      << " of the space, where a trial is too likely to fail, after " << explanation.failed
      << " failed\n";
  TextTable table({"trial", "setting", "why"});
  std::size_t lines = 0;
  for (const Trial& trial : explained.trials) {
    if (is_complete(trial) || lines++ >= kMostTrialLines) continue;
    table.add({std::to_string(shown_number(trial)),
               printable(params_text(trial.params), kParamsLimitBytes),
               printable(trial.outcome.message, kReasonLimitBytes)});
  }
  table.print(out);
  if (lines > kMostTrialLines) out << "and so on; --json has all of them\n";
}

}  // namespace

void print_explanation(std::ostream& out, const StudyExplanation& explained) {
  const Explanation& explanation = explained.explanation;
  out << plain_line(explained.title + ": " + explained.label)
      << (explained.direction == Direction::maximise ? ", higher is better, " : ", ")
      << explanation.completed << " trials completed, " << explanation.failed
      << " failed\nmodel: " << plain_line(explanation.basis);
  if (explanation.modelled < explanation.completed) {
    out << ", fitted to " << explanation.modelled << " of them";
  }
  out << '\n';
  print_others(out, explained.others);
  out << '\n';
  print_importance(out, explained);
  out << '\n';
  print_calibration(out, explained);
  const Recommendation& recommended = explanation.recommendation;
  out << "\nrecommended: " << printable(params_text(recommended.params), kParamsLimitBytes)
      << "\n  " << measured_text(recommended.expected, recommended.deviation, explained.unit)
      << ": " << printable(recommended.reason, kReasonLimitBytes)
      << "\n\nalong each parameter, the others as recommended\n";
  for (const BeliefSlice& slice : explanation.slices) print_slice(out, slice, explained.unit);
  if (explained.simulator) print_simulator(out, *explained.simulator);
  print_reasons(out, explained);
  print_rejected(out, explained);
}

}  // namespace hocket
