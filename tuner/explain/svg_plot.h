#pragma once

// The plots of the trials of a search as SVG documents; tuner/explain/belief_plots.h has those of
// what the model believes. A mark of a trial carries its number (tuner/explain/svg.h). Pure
// functions; thread-safe. Values that are not finite count as failed; settings outside the space
// are omitted.

#include <functional>
#include <span>
#include <string>

#include "tuner/explain/explanation.h"

namespace hocket {

struct PlotLabels {
  std::string title;      ///< title of the study or the table
  std::string objective;  ///< name of the objective
  /// Formats a value with its unit.
  std::function<std::string(double)> text = [](double value) { return to_text(value); };
  Direction direction = Direction::minimise;
};

/// Plots the value of each trial in order, the best so far, and the failed trials.
std::string convergence_svg(std::span<const Trial> trials, const PlotLabels& labels);

/// Plots two objectives of each trial, the first one on `x` and the first further one on `y`, with
/// a line through the Pareto front.
std::string front_svg(std::span<const Trial> trials, const PlotLabels& x, const PlotLabels& y);

/// Plots parallel coordinates: one axis per parameter, one line per trial.
std::string parallel_svg(const Space& space, std::span<const Trial> trials,
                         const PlotLabels& labels);

}  // namespace hocket
