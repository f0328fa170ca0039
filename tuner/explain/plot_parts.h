#pragma once

// Common parts of the plots of a search: colours, axes and labels. Pure functions; thread-safe.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/explain/axis_scale.h"
#include "tuner/explain/svg.h"
#include "tuner/explain/svg_plot.h"

namespace hocket {

inline constexpr const char* kInkColour = "#222222";
inline constexpr const char* kGridColour = "#dddddd";
inline constexpr const char* kMeasuredColour = "#1f6fb4";
inline constexpr const char* kPaleColour = "#a9cbe6";
inline constexpr const char* kBestColour = "#d95f02";
inline constexpr const char* kFailedColour = "#c0143c";
inline constexpr double kPlotTitleSize = 15;

/// The area of a plot in which data are drawn.
struct PlotFrame {
  double left = 0, top = 0, width = 0, height = 0;
  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

/// Returns the value of a trial that completed, if it is finite.
std::optional<double> value_of(const Trial& trial);

/// Returns a value as it is written beside an axis: short, sizes in KiB, MiB or GiB.
std::string label_of(const Parameter& parameter, const ParameterValue& value);

/// Returns the values to label on an axis: all of them if there are few.
std::vector<ParameterValue> ticks_of(const Parameter& parameter);

/// Draws the axes of a frame, and lines at the labelled values of the upward one.
void draw_values(Svg& svg, const PlotFrame& frame, const ValueScale& scale,
                 const PlotLabels& labels);

/// Returns the tooltip of a trial's mark: its number, value and setting.
std::string hint_of(const Trial& trial, const PlotLabels& labels);

/// Returns a scale that holds all measured values.
ValueScale scale_of(std::span<const Trial> trials);

/// Returns the colour of a value at `place` of its scale; good values have the colour of low ones.
std::string colour_of(double place, const PlotLabels& labels);

/// Draws the bar of colours in `frame`; the name of the values ends at `name_end`.
void draw_colour_legend(Svg& svg, const PlotFrame& frame, const ValueScale& scale,
                        const PlotLabels& labels, SvgPoint name_end);

}  // namespace hocket
