#pragma once

// The plots of what the model of a search believes, as SVG documents. A mark of a trial carries its
// number (tuner/explain/svg.h). Pure functions; thread-safe. Values that are not finite count as
// failed; settings outside the space are omitted.

#include <span>
#include <string>

#include "tuner/explain/explanation.h"
#include "tuner/explain/svg_plot.h"

namespace hocket {

/// Plots the belief along each parameter, with the others at the recommendation, and all
/// measurements.
std::string slices_svg(const Space& space, std::span<const Trial> trials,
                       const Explanation& explanation, const PlotLabels& labels);

/// Plots the belief over two parameters, the others as in `recommended`, with the trials.
std::string contour_svg(const Space& space, std::span<const Trial> trials,
                        const BeliefSurface& surface, const Params& recommended,
                        const PlotLabels& labels);

/// Plots the importance of each parameter, alone and with others.
std::string importance_svg(const Explanation& explanation, const PlotLabels& labels);

/// Plots the prediction of each trial by the others, with its 90 % interval, against what was
/// measured.
std::string calibration_svg(const LeaveOneOut& calibration, const PlotLabels& labels);

}  // namespace hocket
