#pragma once

// The plots of an explained study by name, as SVG documents (tuner/explain/svg_plot.h). Pure
// functions; thread-safe.

#include <string>
#include <string_view>
#include <vector>

#include "archive/studies/explanation/explained_study.h"
#include "core/base/result.h"

namespace hocket {

/// The choices of a plot that has some.
struct PlotChoice {
  /// The two parameters of a contour. An empty one is the most important parameter that is left.
  std::string x = {}, y = {};
};

/// Returns the names of the plots that there are of `explained`.
std::vector<std::string> study_plots(const StudyExplanation& explained);

/// Returns one of the plots convergence, slices, contour, parallel, importance, calibration and
/// front. not_found for another name, for a front of one objective, and for a contour or a
/// calibration that the explanation lacks: the message says why and what to do. invalid_argument
/// for a choice that names no parameter with several values, or one parameter twice.
Result<std::string> study_plot(const StudyExplanation& explained, std::string_view plot,
                               const PlotChoice& choice = {});

}  // namespace hocket
