#include "tuner/explain/belief_plots.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/text.h"
#include "tuner/explain/axis_scale.h"
#include "tuner/explain/plot_parts.h"
#include "tuner/explain/svg.h"

namespace hocket {
namespace {

void draw_slice(Svg& svg, const PlotFrame& frame, const Parameter& parameter,
                const BeliefSlice& slice, std::span<const Trial> trials, const Space& space,
                const ValueScale& scale, const PlotLabels& labels) {
  draw_values(svg, frame, scale, labels);
  const auto at = [&](const ParameterValue& setting, double value) {
    return SvgPoint{frame.left + frame.width * encode(parameter.domain, setting),
                    frame.bottom() - frame.height * scale.place(value)};
  };
  for (const auto& tick : ticks_of(parameter)) {
    svg.text({at(tick, 0).x, frame.bottom() + 16}, label_of(parameter, tick), SvgAnchor::middle,
             10);
  }
  svg.text({frame.left + frame.width / 2, frame.bottom() + 34}, parameter.name, SvgAnchor::middle);
  std::vector<SvgPoint> band, mean;
  for (const auto& point : slice.points) {
    band.push_back(at(point.value, point.high));
    mean.push_back(at(point.value, point.expected));
  }
  for (auto it = slice.points.rbegin(); it != slice.points.rend(); ++it)
    band.push_back(at(it->value, it->low));
  const bool is_choice = std::holds_alternative<Choices>(parameter.domain);
  if (is_choice) {
    // Choices have no values in between, so no line connects them.
    for (std::size_t i = 0; i < mean.size(); ++i) {
      svg.line(band[i], band[band.size() - 1 - i], kPaleColour, 10);
      svg.line({mean[i].x - 8, mean[i].y}, {mean[i].x + 8, mean[i].y}, kMeasuredColour, 2);
    }
  } else {
    svg.polygon(band, kMeasuredColour, 0.2);
    svg.polyline(mean, kMeasuredColour, 2);
  }
  for (const auto& trial : trials) {
    const auto params = space.admit(trial.params);
    const auto value = value_of(trial);
    if (!params || !value) continue;
    svg.circle(at(params->at(parameter.name), *value), 2.5, kInkColour, hint_of(trial, labels),
               shown_number(trial));
  }
}

/// Returns the position of `setting` among `values`, in steps; fractional between two of them.
double place_among(const Parameter& parameter, const std::vector<ParameterValue>& values,
                   const ParameterValue& setting) {
  const double unit = encode(parameter.domain, setting);
  double before = encode(parameter.domain, values.front());
  if (unit <= before) return 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double here = encode(parameter.domain, values[i]);
    if (unit <= here) {
      const double part = here > before ? (unit - before) / (here - before) : 1;
      return static_cast<double>(i - 1) + part;
    }
    before = here;
  }
  return static_cast<double>(values.size() - 1);
}

const Parameter& parameter_of(const Space& space, const std::string& name) {
  return *std::ranges::find(space.parameters(), name, &Parameter::name);
}

void draw_cells(Svg& svg, const PlotFrame& frame, const BeliefSurface& surface,
                const ValueScale& scale, const PlotLabels& labels) {
  const double width = frame.width / static_cast<double>(surface.xs.size());
  const double height = frame.height / static_cast<double>(surface.ys.size());
  for (std::size_t j = 0; j < surface.ys.size(); ++j) {
    for (std::size_t i = 0; i < surface.xs.size(); ++i) {
      const auto& cell = surface.expected[j][i];
      // Cells overlap slightly, so that the background does not show between them.
      svg.rectangle({frame.left + static_cast<double>(i) * width,
                     frame.bottom() - static_cast<double>(j + 1) * height},
                    width + 0.3, height + 0.3,
                    cell ? colour_of(scale.place(*cell), labels) : "#eeeeee");
    }
  }
}

void draw_surface(Svg& svg, const PlotFrame& frame, const Space& space,
                  const BeliefSurface& surface, std::span<const Trial> trials,
                  const Params& recommended, const PlotLabels& labels) {
  const Parameter& x = parameter_of(space, surface.x);
  const Parameter& y = parameter_of(space, surface.y);
  const auto at = [&](const ParameterValue& first, const ParameterValue& second) {
    const auto share = [](const Parameter& parameter, const std::vector<ParameterValue>& values,
                          const ParameterValue& value) {
      return (place_among(parameter, values, value) + 0.5) / static_cast<double>(values.size());
    };
    return SvgPoint{frame.left + frame.width * share(x, surface.xs, first),
                    frame.bottom() - frame.height * share(y, surface.ys, second)};
  };
  for (const auto& tick : ticks_of(x)) {
    svg.text({at(tick, surface.ys.front()).x, frame.bottom() + 16}, label_of(x, tick),
             SvgAnchor::middle, 10);
  }
  for (const auto& tick : ticks_of(y)) {
    svg.text({frame.left - 6, at(surface.xs.front(), tick).y + 4}, label_of(y, tick),
             SvgAnchor::end, 10);
  }
  for (const auto& trial : trials) {
    const auto params = space.admit(trial.params);
    if (!params) continue;
    const SvgPoint centre = at(params->at(x.name), params->at(y.name));
    svg.circle(centre, 4.5, "#ffffff");
    svg.circle(centre, 3, value_of(trial) ? kInkColour : kFailedColour, hint_of(trial, labels),
               shown_number(trial));
  }
  const SvgPoint best = at(recommended.at(x.name), recommended.at(y.name));
  svg.line({best.x - 9, best.y}, {best.x + 9, best.y}, kBestColour, 3);
  svg.line({best.x, best.y - 9}, {best.x, best.y + 9}, kBestColour, 3);
}

/// Draws an axis of shares from 0 to 100 %.
void draw_shares(Svg& svg, const PlotFrame& frame) {
  for (int i = 0; i <= 4; ++i) {
    const double x = frame.left + frame.width * i / 4;
    svg.line({x, frame.top}, {x, frame.bottom()}, i == 0 ? kInkColour : kGridColour);
    svg.text({x, frame.bottom() + 16}, std::to_string(25 * i) + " %", SvgAnchor::middle, 10);
  }
}

void draw_left_out(Svg& svg, const PlotFrame& frame, const LeftOut& trial, const ValueScale& scale,
                   const PlotLabels& labels) {
  const auto y_of = [&](double value) {
    return frame.bottom() - frame.height * scale.place(value);
  };
  const double x = frame.left + frame.width * scale.place(trial.measured);
  const bool is_inside = trial.low <= trial.measured && trial.measured <= trial.high;
  svg.line({x, y_of(trial.low)}, {x, y_of(trial.high)}, is_inside ? kPaleColour : kBestColour, 2);
  svg.circle({x, y_of(trial.expected)}, 4, is_inside ? kMeasuredColour : kBestColour,
             "trial " + std::to_string(trial.number) + ": measured " + labels.text(trial.measured) +
                 ", expected " + labels.text(trial.expected) + ", 90 % interval " +
                 labels.text(trial.low) + " to " + labels.text(trial.high),
             trial.number);
}

}  // namespace

std::string slices_svg(const Space& space, std::span<const Trial> trials,
                       const Explanation& explanation, const PlotLabels& labels) {
  constexpr double kWidth = 380, kHeight = 290;
  constexpr std::size_t kColumns = 3;
  const std::size_t count = explanation.slices.size();
  const std::size_t columns = std::clamp<std::size_t>(count, 2, kColumns);
  const std::size_t rows = (count + columns - 1) / columns;
  Svg svg(static_cast<double>(columns) * kWidth + 20, static_cast<double>(rows) * kHeight + 60,
          labels.title + ": slices");
  svg.text({20, 28}, labels.title + ": " + labels.objective + " along each parameter",
           SvgAnchor::start, kPlotTitleSize);
  svg.text({20, 46},
           "the others as recommended; mean and one deviation of the model, dots: all that was "
           "measured",
           SvgAnchor::start, 11);
  ValueScale scale = scale_of(trials);
  for (const auto& slice : explanation.slices)
    for (const auto& point : slice.points) scale.add(point.expected);
  for (std::size_t i = 0; i < count; ++i) {
    const BeliefSlice& slice = explanation.slices[i];
    const PlotFrame frame{static_cast<double>(i % columns) * kWidth + 95,
                          static_cast<double>(i / columns) * kHeight + 70, kWidth - 115,
                          kHeight - 75};
    draw_slice(svg, frame, parameter_of(space, slice.name), slice, trials, space, scale, labels);
  }
  return svg.finish();
}

std::string contour_svg(const Space& space, std::span<const Trial> trials,
                        const BeliefSurface& surface, const Params& recommended,
                        const PlotLabels& labels) {
  Svg svg(760, 560, labels.title + ": contour");
  svg.text({20, 28}, labels.title + ": expected " + labels.objective, SvgAnchor::start,
           kPlotTitleSize);
  const PlotFrame frame{110, 76, 480, 414};
  ValueScale scale;
  for (const auto& row : surface.expected)
    for (const auto& cell : row)
      if (cell) scale.add(*cell);
  svg.text({20, 46},
           "over two parameters, the others as recommended; dots: trials (red: failed), cross: "
           "recommended",
           SvgAnchor::start, 11);
  draw_cells(svg, frame, surface, scale, labels);
  draw_surface(svg, frame, space, surface, trials, recommended, labels);
  svg.text({frame.left + frame.width / 2, frame.bottom() + 38}, surface.x, SvgAnchor::middle);
  svg.text_upwards({16, frame.top + frame.height / 2}, surface.y);
  draw_colour_legend(svg, {frame.right() + 25, frame.top, 20, frame.height}, scale, labels,
                     {750, frame.top - 10});
  return svg.finish();
}

std::string importance_svg(const Explanation& explanation, const PlotLabels& labels) {
  constexpr double kRow = 30, kBar = 9;
  const auto rows = static_cast<double>(explanation.importances.size());
  const PlotFrame frame{230, 84, 440, kRow * rows};
  Svg svg(760, frame.bottom() + 70, labels.title + ": importance");
  svg.text({20, 28}, labels.title + ": importance of each parameter for " + labels.objective,
           SvgAnchor::start, kPlotTitleSize);
  svg.text({20, 46},
           "shares of what the model varies by over the space, which is " +
               (explanation.relative ? percent(explanation.variation)
                                     : labels.text(explanation.variation)) +
               " (standard deviation)",
           SvgAnchor::start, 11);
  draw_shares(svg, frame);
  for (std::size_t i = 0; i < explanation.importances.size(); ++i) {
    const ParameterImportance& importance = explanation.importances[i];
    const double middle = frame.top + kRow * (static_cast<double>(i) + 0.5);
    const std::string alone = "alone " + percent(importance.alone);
    const std::string total = "with others " + percent(importance.total);
    const std::string hint = importance.name + ": " + alone + ", " + total;
    svg.text({frame.left - 8, middle + 4}, importance.name, SvgAnchor::end);
    svg.rectangle({frame.left, middle - kBar}, frame.width * importance.alone, kBar,
                  kMeasuredColour, hint);
    svg.rectangle({frame.left, middle}, frame.width * importance.total, kBar, kPaleColour, hint);
    svg.text({frame.left + frame.width * importance.total + 6, middle + 4},
             percent(importance.total), SvgAnchor::start, 10);
  }
  const double y = frame.bottom() + 46;
  svg.rectangle({frame.left, y - 9}, 12, kBar, kMeasuredColour);
  svg.text({frame.left + 18, y}, "alone");
  svg.rectangle({frame.left + 90, y - 9}, 12, kBar, kPaleColour);
  svg.text({frame.left + 108, y}, "with others");
  return svg.finish();
}

std::string calibration_svg(const LeaveOneOut& calibration, const PlotLabels& labels) {
  Svg svg(760, 530, labels.title + ": predicted against measured");
  const PlotFrame frame{110, 76, 620, 390};
  svg.text({20, 28},
           labels.title + ": each trial predicted by the others, against what was measured",
           SvgAnchor::start, kPlotTitleSize);
  char correlation[32];
  std::snprintf(correlation, sizeof correlation, "%.2f", calibration.rank_correlation);
  svg.text(
      {20, 46},
      percent(calibration.coverage) +
          " of the trials are within their 90 % interval (orange: outside), rank correlation " +
          correlation,
      SvgAnchor::start, 11);
  // Both axes have one scale, so that a right prediction lies on the diagonal. An interval may be
  // wider than all that was measured, and ends at the edge then.
  ValueScale scale;
  for (const LeftOut& trial : calibration.trials) {
    scale.add(trial.measured);
    scale.add(trial.expected);
  }
  draw_values(svg, frame, scale, labels);
  for (const double tick : scale.ticks()) {
    svg.text({frame.left + frame.width * scale.place(tick), frame.bottom() + 16}, labels.text(tick),
             SvgAnchor::middle, 10);
  }
  svg.line({frame.left, frame.bottom()}, {frame.right(), frame.top}, "#999999");
  for (const LeftOut& trial : calibration.trials) draw_left_out(svg, frame, trial, scale, labels);
  svg.text({frame.left + frame.width / 2, frame.bottom() + 42}, "measured: " + labels.objective,
           SvgAnchor::middle);
  svg.text_upwards({16, frame.top + frame.height / 2}, "predicted: " + labels.objective);
  return svg.finish();
}

}  // namespace hocket
