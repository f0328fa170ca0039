#include "archive/studies/explanation/study_plots.h"

#include <algorithm>
#include <iterator>

#include "core/base/text.h"
#include "tuner/explain/belief_plots.h"
#include "tuner/explain/surface.h"
#include "tuner/explain/svg_plot.h"

namespace hocket {
namespace {

constexpr std::size_t kQuotedPlotBytes = 60;

/// `objective` is the text of the objective, and `label` what it is called: the same where it has
/// no name.
PlotLabels plot_labels(const StudyExplanation& explained, const std::string& objective,
                       const std::string& label, Direction direction, const ObjectiveUnit& unit) {
  const std::string kind = unit == ObjectiveUnit::nanoseconds ? "time" : "value";
  const bool is_max = direction == Direction::maximise;
  const bool has_name = !objective.ends_with(label);
  return {explained.title,
          (has_name ? label : kind + " (" + label + ")") + (is_max ? ", higher is better" : ""),
          [unit](double value) { return value_text(value, unit); }, direction};
}

PlotLabels labels_of_first(const StudyExplanation& explained) {
  return plot_labels(explained, explained.objective, explained.label, explained.direction,
                     explained.unit);
}

/// The functions below say why there is no such plot, and what to do; nothing if there is one.
std::string never_lacking(const StudyExplanation&) {
  return {};
}

std::string why_no_contour(const StudyExplanation& explained) {
  if (explained.explanation.surface) return {};
  return "a contour takes two parameters with several values, and the space has fewer; look at the "
         "slices";
}

std::string why_no_calibration(const StudyExplanation& explained) {
  if (explained.explanation.calibration) return {};
  const std::size_t completed = explained.explanation.completed;
  return "each trial is left out once where " + std::to_string(kFewestCalibrated) + " to " +
         std::to_string(kMostCalibrated) + " trials completed, and " + std::to_string(completed) +
         " have; " +
         (completed < kFewestCalibrated ? "run more trials"
                                        : "the slices show how certain the model is");
}

std::string why_no_front(const StudyExplanation& explained) {
  if (!explained.others.empty()) return {};
  return "a front takes several objectives, and there is one; tune with a second --objective";
}

std::string draw_convergence(const StudyExplanation& explained) {
  return convergence_svg(explained.trials, labels_of_first(explained));
}

std::string draw_slices(const StudyExplanation& explained) {
  return slices_svg(explained.space, explained.trials, explained.explanation,
                    labels_of_first(explained));
}

std::string draw_parallel(const StudyExplanation& explained) {
  return parallel_svg(explained.space, explained.trials, labels_of_first(explained));
}

std::string draw_importance(const StudyExplanation& explained) {
  return importance_svg(explained.explanation, labels_of_first(explained));
}

std::string draw_calibration(const StudyExplanation& explained) {
  return calibration_svg(*explained.explanation.calibration, labels_of_first(explained));
}

std::string draw_front(const StudyExplanation& explained) {
  const Objective& other = explained.others.front();
  return front_svg(
      explained.trials, labels_of_first(explained),
      plot_labels(explained, to_text(other), label_of(other), other.direction, unit_of(other)));
}

std::string draw_surface(const StudyExplanation& explained, const BeliefSurface& surface) {
  return contour_svg(explained.space, explained.trials, surface,
                     explained.explanation.recommendation.params, labels_of_first(explained));
}

/// Requires a contour.
Result<std::string> draw_contour(const StudyExplanation& explained, PlotChoice choice) {
  const Explanation& explanation = explained.explanation;
  for (std::string* empty : {&choice.x, &choice.y}) {
    if (!empty->empty()) continue;
    const auto varying = varying_parameters(explained.space, explanation);
    *empty = varying[varying[0] == choice.x || varying[0] == choice.y ? 1 : 0];
  }
  const BeliefSurface& first = *explanation.surface;
  if (choice.x == first.x && choice.y == first.y) return draw_surface(explained, first);
  const auto surface = surface_over(explained.space, explanation, choice.x, choice.y);
  HOCKET_TRY(surface);
  return draw_surface(explained, *surface);
}

struct KnownPlot {
  std::string_view name;
  std::string (*why_none)(const StudyExplanation&);
  std::string (*draw)(const StudyExplanation&);  ///< null for the contour, which has a choice
};

constexpr KnownPlot kPlots[] = {
    {"convergence", never_lacking, draw_convergence},
    {"slices", never_lacking, draw_slices},
    {"contour", why_no_contour, nullptr},
    {"parallel", never_lacking, draw_parallel},
    {"importance", never_lacking, draw_importance},
    {"calibration", why_no_calibration, draw_calibration},
    {"front", why_no_front, draw_front},
};

}  // namespace

std::vector<std::string> study_plots(const StudyExplanation& explained) {
  std::vector<std::string> names;
  for (const KnownPlot& plot : kPlots) {
    if (plot.why_none(explained).empty()) names.emplace_back(plot.name);
  }
  return names;
}

Result<std::string> study_plot(const StudyExplanation& explained, std::string_view plot,
                               const PlotChoice& choice) {
  const auto known = std::ranges::find(kPlots, plot, &KnownPlot::name);
  const std::string why = known == std::end(kPlots) ? "" : known->why_none(explained);
  if (known == std::end(kPlots) || !why.empty()) {
    std::string all;
    for (const std::string& name : study_plots(explained)) all += (all.empty() ? "" : ", ") + name;
    return failure(ErrorCode::not_found, "no plot \"" + printable(plot, kQuotedPlotBytes) + "\"" +
                                             (why.empty() ? "" : ": " + why) + "; there are " +
                                             all);
  }
  if (known->draw) return known->draw(explained);
  return draw_contour(explained, choice);
}

}  // namespace hocket
