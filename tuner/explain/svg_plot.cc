#include "tuner/explain/svg_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tuner/explain/axis_scale.h"
#include "tuner/explain/plot_parts.h"
#include "tuner/explain/svg.h"
#include "tuner/search/pareto_front.h"

namespace hocket {

std::string convergence_svg(std::span<const Trial> trials, const PlotLabels& labels) {
  Svg svg(760, 420, labels.title + ": convergence");
  const PlotFrame frame{100, 50, 630, 300};
  svg.text({frame.left, 28}, labels.title + ": value of each trial, best so far", SvgAnchor::start,
           kPlotTitleSize);
  const ValueScale scale = scale_of(trials);
  draw_values(svg, frame, scale, labels);
  const auto x_of = [&](std::size_t i) {
    return frame.left + frame.width * (static_cast<double>(i) + 0.5) /
                            static_cast<double>(std::max<std::size_t>(trials.size(), 1));
  };
  const std::size_t step = (trials.size() + 14) / 15;
  for (std::size_t i = 0; i < trials.size(); i += step) {
    svg.text({x_of(i), frame.bottom() + 16}, std::to_string(shown_number(trials[i])),
             SvgAnchor::middle, 10);
  }
  std::vector<SvgPoint> best_so_far;
  double best = cost(std::numeric_limits<double>::infinity(), labels.direction);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto value = value_of(trials[i]);
    const std::string hint = hint_of(trials[i], labels);
    if (!value) {
      svg.circle({x_of(i), frame.bottom() - 4}, 4, kFailedColour, hint, shown_number(trials[i]));
    } else {
      if (cost(*value, labels.direction) < cost(best, labels.direction)) best = *value;
      svg.circle({x_of(i), frame.bottom() - frame.height * scale.place(*value)}, 4, kMeasuredColour,
                 hint, shown_number(trials[i]));
    }
    if (!std::isfinite(best)) continue;
    const double y = frame.bottom() - frame.height * scale.place(best);
    if (!best_so_far.empty()) best_so_far.push_back({x_of(i), best_so_far.back().y});
    best_so_far.push_back({x_of(i), y});
  }
  svg.polyline(best_so_far, kBestColour, 2);
  svg.text({frame.left + frame.width / 2, frame.bottom() + 36}, "trial", SvgAnchor::middle);
  svg.text_upwards({16, frame.top + frame.height / 2}, labels.objective);
  const double y = frame.bottom() + 58;
  svg.circle({frame.left + 4, y - 4}, 4, kMeasuredColour);
  svg.text({frame.left + 14, y}, "measured");
  svg.line({frame.left + 100, y - 4}, {frame.left + 124, y - 4}, kBestColour, 2);
  svg.text({frame.left + 130, y}, "best so far");
  svg.circle({frame.left + 224, y - 4}, 4, kFailedColour);
  svg.text({frame.left + 234, y}, "failed");
  return svg.finish();
}

std::string front_svg(std::span<const Trial> trials, const PlotLabels& x, const PlotLabels& y) {
  Svg svg(760, 480, x.title + ": front");
  const PlotFrame frame{100, 60, 630, 340};
  svg.text({20, 28}, x.title + ": two objectives of each trial, and what none beats in both",
           SvgAnchor::start, kPlotTitleSize);
  std::vector<const Trial*> shown;
  std::vector<std::vector<double>> values;
  ValueScale along, up;
  for (const Trial& trial : trials) {
    const auto value = value_of(trial);
    const auto& others = trial.outcome.others;
    if (!value || others.empty() || !std::isfinite(others.front())) continue;
    shown.push_back(&trial);
    values.push_back({*value, others.front()});
    along.add(*value);
    up.add(others.front());
  }
  draw_values(svg, frame, up, y);
  for (const double tick : along.ticks()) {
    svg.text({frame.left + frame.width * along.place(tick), frame.bottom() + 16}, x.text(tick),
             SvgAnchor::middle, 10);
  }
  const auto at = [&](const std::vector<double>& value) {
    return SvgPoint{frame.left + frame.width * along.place(value[0]),
                    frame.bottom() - frame.height * up.place(value[1])};
  };
  for (std::size_t i = 0; i < shown.size(); ++i) {
    svg.circle(at(values[i]), 4, kMeasuredColour,
               hint_of(*shown[i], x) + "; " + y.text(values[i][1]), shown_number(*shown[i]));
  }
  std::vector<SvgPoint> front;
  std::vector<std::vector<double>> both_costs;
  for (const auto& value : values)
    both_costs.push_back({cost(value[0], x.direction), cost(value[1], y.direction)});
  for (const std::size_t place : pareto_front(both_costs)) front.push_back(at(values[place]));
  std::ranges::sort(front, {}, &SvgPoint::x);
  svg.polyline(front, kBestColour, 2);
  for (const SvgPoint& point : front) svg.circle(point, 2, kBestColour);
  svg.text({frame.left + frame.width / 2, frame.bottom() + 42}, x.objective, SvgAnchor::middle);
  svg.text_upwards({16, frame.top + frame.height / 2}, y.objective);
  return svg.finish();
}

std::string parallel_svg(const Space& space, std::span<const Trial> trials,
                         const PlotLabels& labels) {
  const std::size_t count = space.parameters().size();
  const double apart = 150;
  const PlotFrame frame{70, 80, apart * static_cast<double>(count), 320};
  const double width = std::max(560.0, frame.right() + 190);
  Svg svg(width, 440, labels.title + ": parallel coordinates");
  svg.text({20, 28}, labels.title + ": a line a trial, coloured by " + labels.objective,
           SvgAnchor::start, kPlotTitleSize);
  const ValueScale scale = scale_of(trials);
  const auto at = [&](std::size_t i, double share) {
    return SvgPoint{frame.left + apart * static_cast<double>(i),
                    frame.bottom() - frame.height * share};
  };
  std::vector<const Trial*> worst_first;
  for (const auto& trial : trials)
    if (space.admit(trial.params)) worst_first.push_back(&trial);
  std::ranges::stable_sort(worst_first, std::greater(), [&](const Trial* trial) {
    const auto value = value_of(*trial);
    return value ? cost(*value, labels.direction) : std::numeric_limits<double>::infinity();
  });
  for (const Trial* trial : worst_first) {
    const Params params = *space.admit(trial->params);
    const auto value = value_of(*trial);
    std::vector<SvgPoint> points;
    for (std::size_t i = 0; i < count; ++i) {
      const Parameter& parameter = space.parameters()[i];
      points.push_back(at(i, encode(parameter.domain, params.at(parameter.name))));
    }
    if (value) points.push_back(at(count, scale.place(*value)));
    svg.polyline(points, value ? colour_of(scale.place(*value), labels) : "#999999", 1.5, 0.8,
                 hint_of(*trial, labels), shown_number(*trial));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Parameter& parameter = space.parameters()[i];
    svg.begin_axis(parameter.name);
    svg.line(at(i, 0), at(i, 1), kInkColour);
    svg.text({at(i, 0).x, frame.top - 14}, parameter.name, SvgAnchor::middle, 11);
    for (const auto& tick : ticks_of(parameter)) {
      const SvgPoint point = at(i, encode(parameter.domain, tick));
      svg.text({point.x + 5, point.y + 4}, label_of(parameter, tick), SvgAnchor::start, 10);
    }
    svg.end_axis();
  }
  draw_colour_legend(svg, {frame.right(), frame.top, 14, frame.height}, scale, labels,
                     {width - 10, frame.top - 32});
  svg.text({20, 428}, "grey: failed", SvgAnchor::start, 11);
  return svg.finish();
}

}  // namespace hocket
