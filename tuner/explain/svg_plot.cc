#include "tuner/explain/svg_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "tuner/explain/axis_scale.h"
#include "tuner/explain/svg.h"
#include "tuner/search/pareto_front.h"

namespace hocket {
namespace {

constexpr const char* kInk = "#222222";
constexpr const char* kGrid = "#dddddd";
constexpr const char* kMeasured = "#1f6fb4";
constexpr const char* kBest = "#d95f02";
constexpr const char* kFailed = "#c0143c";
constexpr double kTitleSize = 15;
constexpr std::size_t kMostTicks = 8, kFewTicks = 5;

/// The area of a plot in which data are drawn.
struct Frame {
  double left = 0, top = 0, width = 0, height = 0;
  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

std::optional<double> value_of(const SearchTrial& trial) {
  const auto& value = trial.evaluation.value;
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string digits(double value, int count) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", count, value);
  return text;
}

std::string label_of(const Parameter& parameter, const ParameterValue& value) {
  const auto* integer = std::get_if<std::int64_t>(&value);
  if (integer && parameter.name.ends_with("_bytes")) {
    constexpr std::pair<double, const char*> kUnits[] = {
        {0x1p30, " GiB"}, {0x1p20, " MiB"}, {0x1p10, " KiB"}};
    const auto bytes = static_cast<double>(*integer);
    for (const auto& [size, unit] : kUnits) {
      if (bytes >= size) return digits(bytes / size, 4) + unit;
    }
  }
  if (const auto* real = std::get_if<double>(&value)) return digits(*real, 4);
  const std::string text = to_text(value);
  return text.size() <= 14 ? text : text.substr(0, 12) + "…";
}

/// Returns the values to label on an axis: all of them if there are few.
std::vector<ParameterValue> ticks_of(const Parameter& parameter) {
  std::vector<ParameterValue> ticks;
  const std::uint64_t count = size(parameter.domain);
  if (count <= kMostTicks) {
    for (std::uint64_t i = 0; i < count; ++i) ticks.push_back(value_at(parameter.domain, i));
    return ticks;
  }
  for (std::size_t i = 0; i < kFewTicks; ++i) {
    ParameterValue tick =
        decode(parameter.domain, static_cast<double>(i) / static_cast<double>(kFewTicks - 1));
    if (ticks.empty() || ticks.back() != tick) ticks.push_back(std::move(tick));
  }
  return ticks;
}

void draw_values(Svg& svg, const Frame& frame, const ValueScale& scale, const PlotLabels& labels) {
  for (const double tick : scale.ticks()) {
    const double y = frame.bottom() - frame.height * scale.place(tick);
    svg.line({frame.left, y}, {frame.right(), y}, kGrid);
    svg.text({frame.left - 6, y + 4}, labels.text(tick), SvgAnchor::end, 11);
  }
  svg.line({frame.left, frame.top}, {frame.left, frame.bottom()}, kInk);
  svg.line({frame.left, frame.bottom()}, {frame.right(), frame.bottom()}, kInk);
}

std::string hint_of(const SearchTrial& trial, const PlotLabels& labels) {
  const auto value = value_of(trial);
  std::string hint =
      "trial " + std::to_string(trial.number) + ": " + (value ? labels.text(*value) : "failed");
  for (const auto& [name, setting] : trial.evaluation.params)
    hint += ", " + name + "=" + to_text(setting);
  return hint;
}

/// Returns a scale that holds all measured values.
ValueScale scale_of(std::span<const SearchTrial> trials) {
  ValueScale scale;
  for (const auto& trial : trials)
    if (const auto value = value_of(trial)) scale.add(*value);
  return scale;
}

/// Returns the colour of a value at `place` of its scale; good values have the colour of low ones.
std::string colour_of(double place, const PlotLabels& labels) {
  return svg_colour(labels.direction == Direction::maximise ? 1 - place : place);
}

/// Draws the bar of colours in `frame`; the name of the values ends at `name_end`.
void draw_colour_legend(Svg& svg, const Frame& frame, const ValueScale& scale,
                        const PlotLabels& labels, SvgPoint name_end) {
  constexpr int kSteps = 40;
  const double height = frame.height / kSteps;
  for (int i = 0; i < kSteps; ++i) {
    const double y = frame.bottom() - (i + 1) * height;
    svg.rectangle({frame.left, y}, frame.width, height + 0.5,
                  colour_of((i + 0.5) / kSteps, labels));
  }
  for (const double tick : scale.ticks()) {
    const double y = frame.bottom() - frame.height * scale.place(tick);
    svg.text({frame.right() + 5, y + 4}, labels.text(tick), SvgAnchor::start, 11);
  }
  svg.text(name_end, labels.objective, SvgAnchor::end, 11);
}

void draw_slice(Svg& svg, const Frame& frame, const Parameter& parameter, const Slice& slice,
                std::span<const SearchTrial> trials, const Space& space, const ValueScale& scale,
                const PlotLabels& labels) {
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
      svg.line(band[i], band[band.size() - 1 - i], "#a9cbe6", 10);
      svg.line({mean[i].x - 8, mean[i].y}, {mean[i].x + 8, mean[i].y}, kMeasured, 2);
    }
  } else {
    svg.polygon(band, kMeasured, 0.2);
    svg.polyline(mean, kMeasured, 2);
  }
  for (const auto& trial : trials) {
    const auto params = space.admit(trial.evaluation.params);
    const auto value = value_of(trial);
    if (!params || !value) continue;
    svg.circle(at(params->at(parameter.name), *value), 2.5, kInk, hint_of(trial, labels));
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

void draw_cells(Svg& svg, const Frame& frame, const Surface& surface, const ValueScale& scale,
                const PlotLabels& labels) {
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

void draw_surface(Svg& svg, const Frame& frame, const Space& space, const Surface& surface,
                  std::span<const SearchTrial> trials, const Params& recommended,
                  const PlotLabels& labels) {
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
    const auto params = space.admit(trial.evaluation.params);
    if (!params) continue;
    const SvgPoint centre = at(params->at(x.name), params->at(y.name));
    svg.circle(centre, 4.5, "#ffffff");
    svg.circle(centre, 3, value_of(trial) ? kInk : kFailed, hint_of(trial, labels));
  }
  const SvgPoint best = at(recommended.at(x.name), recommended.at(y.name));
  svg.line({best.x - 9, best.y}, {best.x + 9, best.y}, kBest, 3);
  svg.line({best.x, best.y - 9}, {best.x, best.y + 9}, kBest, 3);
}

}  // namespace

std::string convergence_svg(std::span<const SearchTrial> trials, const PlotLabels& labels) {
  Svg svg(760, 420, labels.title + ": convergence");
  const Frame frame{100, 50, 630, 300};
  svg.text({frame.left, 28}, labels.title + ": value of each trial, best so far", SvgAnchor::start,
           kTitleSize);
  const ValueScale scale = scale_of(trials);
  draw_values(svg, frame, scale, labels);
  const auto x_of = [&](std::size_t i) {
    return frame.left + frame.width * (static_cast<double>(i) + 0.5) /
                            static_cast<double>(std::max<std::size_t>(trials.size(), 1));
  };
  const std::size_t step = (trials.size() + 14) / 15;
  for (std::size_t i = 0; i < trials.size(); i += step) {
    svg.text({x_of(i), frame.bottom() + 16}, std::to_string(trials[i].number), SvgAnchor::middle,
             10);
  }
  std::vector<SvgPoint> best_so_far;
  double best = cost(std::numeric_limits<double>::infinity(), labels.direction);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto value = value_of(trials[i]);
    const std::string hint = hint_of(trials[i], labels);
    if (!value) {
      svg.circle({x_of(i), frame.bottom() - 4}, 4, kFailed, hint);
    } else {
      if (cost(*value, labels.direction) < cost(best, labels.direction)) best = *value;
      svg.circle({x_of(i), frame.bottom() - frame.height * scale.place(*value)}, 4, kMeasured,
                 hint);
    }
    if (!std::isfinite(best)) continue;
    const double y = frame.bottom() - frame.height * scale.place(best);
    if (!best_so_far.empty()) best_so_far.push_back({x_of(i), best_so_far.back().y});
    best_so_far.push_back({x_of(i), y});
  }
  svg.polyline(best_so_far, kBest, 2);
  svg.text({frame.left + frame.width / 2, frame.bottom() + 36}, "trial", SvgAnchor::middle);
  svg.text_upwards({16, frame.top + frame.height / 2}, labels.objective);
  const double y = frame.bottom() + 58;
  svg.circle({frame.left + 4, y - 4}, 4, kMeasured);
  svg.text({frame.left + 14, y}, "measured");
  svg.line({frame.left + 100, y - 4}, {frame.left + 124, y - 4}, kBest, 2);
  svg.text({frame.left + 130, y}, "best so far");
  svg.circle({frame.left + 224, y - 4}, 4, kFailed);
  svg.text({frame.left + 234, y}, "failed");
  return svg.finish();
}

std::string front_svg(std::span<const SearchTrial> trials, const PlotLabels& x,
                      const PlotLabels& y) {
  Svg svg(760, 480, x.title + ": front");
  const Frame frame{100, 60, 630, 340};
  svg.text({20, 28}, x.title + ": two objectives of each trial, and what none beats in both",
           SvgAnchor::start, kTitleSize);
  std::vector<const SearchTrial*> shown;
  std::vector<std::vector<double>> values;
  ValueScale along, up;
  for (const SearchTrial& trial : trials) {
    const auto value = value_of(trial);
    const auto& others = trial.evaluation.others;
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
  for (std::size_t i = 0; i < shown.size(); ++i)
    svg.circle(at(values[i]), 4, kMeasured, hint_of(*shown[i], x) + "; " + y.text(values[i][1]));
  std::vector<SvgPoint> front;
  std::vector<std::vector<double>> both_costs;
  for (const auto& value : values)
    both_costs.push_back({cost(value[0], x.direction), cost(value[1], y.direction)});
  for (const std::size_t place : pareto_front(both_costs)) front.push_back(at(values[place]));
  std::ranges::sort(front, {}, &SvgPoint::x);
  svg.polyline(front, kBest, 2);
  for (const SvgPoint& point : front) svg.circle(point, 2, kBest);
  svg.text({frame.left + frame.width / 2, frame.bottom() + 42}, x.objective, SvgAnchor::middle);
  svg.text_upwards({16, frame.top + frame.height / 2}, y.objective);
  return svg.finish();
}

std::string slices_svg(const Space& space, std::span<const SearchTrial> trials,
                       const Explanation& explanation, const PlotLabels& labels) {
  constexpr double kWidth = 380, kHeight = 290;
  constexpr std::size_t kColumns = 3;
  const std::size_t count = explanation.slices.size();
  const std::size_t columns = std::clamp<std::size_t>(count, 2, kColumns);
  const std::size_t rows = (count + columns - 1) / columns;
  Svg svg(static_cast<double>(columns) * kWidth + 20, static_cast<double>(rows) * kHeight + 60,
          labels.title + ": slices");
  svg.text({20, 28}, labels.title + ": " + labels.objective + " along each parameter",
           SvgAnchor::start, kTitleSize);
  svg.text({20, 46},
           "the others as recommended; mean and one deviation of the model, dots: all that was "
           "measured",
           SvgAnchor::start, 11);
  ValueScale scale = scale_of(trials);
  for (const auto& slice : explanation.slices)
    for (const auto& point : slice.points) scale.add(point.expected);
  for (std::size_t i = 0; i < count; ++i) {
    const Slice& slice = explanation.slices[i];
    const Frame frame{static_cast<double>(i % columns) * kWidth + 95,
                      static_cast<double>(i / columns) * kHeight + 70, kWidth - 115, kHeight - 75};
    draw_slice(svg, frame, parameter_of(space, slice.name), slice, trials, space, scale, labels);
  }
  return svg.finish();
}

std::string contour_svg(const Space& space, std::span<const SearchTrial> trials,
                        const Explanation& explanation, const PlotLabels& labels) {
  Svg svg(760, 560, labels.title + ": contour");
  svg.text({20, 28}, labels.title + ": expected " + labels.objective, SvgAnchor::start, kTitleSize);
  if (!explanation.surface) {
    svg.text({20, 60}, "A contour takes two parameters that have more than one value.");
    return svg.finish();
  }
  const Surface& surface = *explanation.surface;
  const Frame frame{110, 76, 480, 414};
  ValueScale scale;
  for (const auto& row : surface.expected)
    for (const auto& cell : row)
      if (cell) scale.add(*cell);
  svg.text({20, 46},
           "over the two most important parameters, the others as recommended; dots: trials (red: "
           "failed), cross: recommended",
           SvgAnchor::start, 11);
  draw_cells(svg, frame, surface, scale, labels);
  draw_surface(svg, frame, space, surface, trials, explanation.recommendation.params, labels);
  svg.text({frame.left + frame.width / 2, frame.bottom() + 38}, surface.x, SvgAnchor::middle);
  svg.text_upwards({16, frame.top + frame.height / 2}, surface.y);
  draw_colour_legend(svg, {frame.right() + 25, frame.top, 20, frame.height}, scale, labels,
                     {750, frame.top - 10});
  return svg.finish();
}

std::string parallel_svg(const Space& space, std::span<const SearchTrial> trials,
                         const PlotLabels& labels) {
  const std::size_t count = space.parameters().size();
  const double apart = 150;
  const Frame frame{70, 80, apart * static_cast<double>(count), 320};
  const double width = std::max(560.0, frame.right() + 190);
  Svg svg(width, 440, labels.title + ": parallel coordinates");
  svg.text({20, 28}, labels.title + ": a line a trial, coloured by " + labels.objective,
           SvgAnchor::start, kTitleSize);
  const ValueScale scale = scale_of(trials);
  const auto at = [&](std::size_t i, double share) {
    return SvgPoint{frame.left + apart * static_cast<double>(i),
                    frame.bottom() - frame.height * share};
  };
  std::vector<const SearchTrial*> worst_first;
  for (const auto& trial : trials)
    if (space.admit(trial.evaluation.params)) worst_first.push_back(&trial);
  std::ranges::stable_sort(worst_first, std::greater(), [&](const SearchTrial* trial) {
    const auto value = value_of(*trial);
    return value ? cost(*value, labels.direction) : std::numeric_limits<double>::infinity();
  });
  for (const SearchTrial* trial : worst_first) {
    const Params params = *space.admit(trial->evaluation.params);
    const auto value = value_of(*trial);
    std::vector<SvgPoint> points;
    for (std::size_t i = 0; i < count; ++i) {
      const Parameter& parameter = space.parameters()[i];
      points.push_back(at(i, encode(parameter.domain, params.at(parameter.name))));
    }
    if (value) points.push_back(at(count, scale.place(*value)));
    svg.polyline(points, value ? colour_of(scale.place(*value), labels) : "#999999", 1.5, 0.8);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Parameter& parameter = space.parameters()[i];
    svg.line(at(i, 0), at(i, 1), kInk);
    svg.text({at(i, 0).x, frame.top - 14}, parameter.name, SvgAnchor::middle, 11);
    for (const auto& tick : ticks_of(parameter)) {
      const SvgPoint point = at(i, encode(parameter.domain, tick));
      svg.text({point.x + 5, point.y + 4}, label_of(parameter, tick), SvgAnchor::start, 10);
    }
  }
  draw_colour_legend(svg, {frame.right(), frame.top, 14, frame.height}, scale, labels,
                     {width - 10, frame.top - 32});
  svg.text({20, 428}, "grey: failed", SvgAnchor::start, 11);
  return svg.finish();
}

}  // namespace hocket
