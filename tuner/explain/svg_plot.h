#pragma once

// The plots of a search as SVG documents. Pure functions; thread-safe. Values that are not finite
// count as failed, and settings outside the space are left out.

#include <functional>
#include <span>
#include <string>

#include "tuner/explain/explanation.h"

namespace hocket {

struct PlotLabels {
  std::string title;      ///< of the study or the table
  std::string objective;  ///< what the values are
  /// A value with its unit.
  std::function<std::string(double)> text = [](double value) { return to_text(value); };
};

/// The value of each trial in their order, the best so far, and where trials failed.
std::string convergence_svg(std::span<const SearchTrial> trials, const PlotLabels& labels);

/// Two objectives of each trial, the one on `x` and the first further one on `y`, and a line
/// through those that no other trial beats in both.
std::string front_svg(std::span<const SearchTrial> trials, const PlotLabels& x,
                      const PlotLabels& y);

/// The belief along each parameter, the others as recommended, with what was measured anywhere.
std::string slices_svg(const Space& space, std::span<const SearchTrial> trials,
                       const Explanation& explanation, const PlotLabels& labels);

/// The belief over the two most important parameters, with the trials; says so where there is only
/// one parameter.
std::string contour_svg(const Space& space, std::span<const SearchTrial> trials,
                        const Explanation& explanation, const PlotLabels& labels);

/// An axis a parameter, a line a trial.
std::string parallel_svg(const Space& space, std::span<const SearchTrial> trials,
                         const PlotLabels& labels);

}  // namespace hocket
