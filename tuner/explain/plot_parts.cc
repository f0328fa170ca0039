#include "tuner/explain/plot_parts.h"

#include <cmath>
#include <cstdio>
#include <utility>

namespace hocket {
namespace {

constexpr std::size_t kMostTicks = 8, kFewTicks = 5;

std::string digits(double value, int count) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", count, value);
  return text;
}

}  // namespace

std::optional<double> value_of(const Trial& trial) {
  const auto& value = trial.outcome.value;
  return is_complete(trial) && std::isfinite(*value) ? value : std::nullopt;
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

std::vector<ParameterValue> ticks_of(const Parameter& parameter) {
  std::vector<ParameterValue> ticks;
  const std::uint64_t count = value_count(parameter.domain);
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

void draw_values(Svg& svg, const PlotFrame& frame, const ValueScale& scale,
                 const PlotLabels& labels) {
  for (const double tick : scale.ticks()) {
    const double y = frame.bottom() - frame.height * scale.place(tick);
    svg.line({frame.left, y}, {frame.right(), y}, kGridColour);
    svg.text({frame.left - 6, y + 4}, labels.text(tick), SvgAnchor::end, 11);
  }
  svg.line({frame.left, frame.top}, {frame.left, frame.bottom()}, kInkColour);
  svg.line({frame.left, frame.bottom()}, {frame.right(), frame.bottom()}, kInkColour);
}

std::string hint_of(const Trial& trial, const PlotLabels& labels) {
  const auto value = value_of(trial);
  std::string hint = "trial " + std::to_string(shown_number(trial)) + ": " +
                     (value ? labels.text(*value) : "failed");
  for (const auto& [name, setting] : trial.params) hint += ", " + name + "=" + to_text(setting);
  return hint;
}

ValueScale scale_of(std::span<const Trial> trials) {
  ValueScale scale;
  for (const auto& trial : trials)
    if (const auto value = value_of(trial)) scale.add(*value);
  return scale;
}

std::string colour_of(double place, const PlotLabels& labels) {
  return svg_colour(labels.direction == Direction::maximise ? 1 - place : place);
}

void draw_colour_legend(Svg& svg, const PlotFrame& frame, const ValueScale& scale,
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

}  // namespace hocket
