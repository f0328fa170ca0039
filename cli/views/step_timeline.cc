#include "cli/views/step_timeline.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/output/columns.h"
#include "core/base/check.h"
#include "core/base/text.h"
#include "profiler/formats/lane_tracks.h"
#include "profiler/metrics/exposed_time.h"
#include "profiler/metrics/iteration_windows.h"
#include "tuner/explain/svg.h"
#include "tuner/trial/objective_unit.h"

namespace hocket {
namespace {

// Pixels.
constexpr double kTimelineWidth = 900, kRowsLeft = 84, kRowsRight = 884;
constexpr double kFirstStepTop = 14, kHeaderHeight = 46, kRowHeight = 26, kBoxHeight = 22;
constexpr double kStepDistance = 16, kAxisHeight = 26, kTimelineLegendHeight = 30;
constexpr double kTimelineTitleSize = 15, kDetailSize = 11, kBoxTextSize = 10, kAxisTextSize = 11;
/// Width of a box's border to the next one, left white.
constexpr double kBoxGap = 0.5;
constexpr double kLeastBoxWidth = 0.4;
/// Width of a character of a box's text, rather too wide than too narrow.
constexpr double kCharacterWidth = 6.2;
constexpr std::size_t kLeastBoxName = 3;
constexpr std::size_t kBoxNameLimitBytes = 100;
constexpr int kMostAxisTicks = 10;

constexpr const char* kTimelineInk = "#222222";
constexpr const char* kTimelineGrid = "#d4d4d4";
constexpr const char* kIdle = "#f0f0f0";

enum class BoxKind { forward, backward, update, communication, copy };

struct BoxLook {
  std::string_view name;
  const char* fill;
};

/// By BoxKind. Light enough for dark text, and different with impaired colour vision as well.
constexpr std::array<BoxLook, 5> kBoxLooks{{{"forward", "#8ecae6"},
                                            {"backward", "#f4a259"},
                                            {"update", "#7bc67e"},
                                            {"communication", "#c8a2e0"},
                                            {"copy", "#b8b8b8"}}};

BoxKind box_kind_of(const TraceRecord& record, std::string_view name) {
  if (record.kind == TraceKind::communication) return BoxKind::communication;
  if (record.kind == TraceKind::copy) return BoxKind::copy;
  switch (phase_of(name)) {
    case TaskPhase::forward:
      return BoxKind::forward;
    case TaskPhase::backward:
      return BoxKind::backward;
    case TaskPhase::update:
      break;
  }
  return BoxKind::update;
}

struct TimelineBox {
  std::string name;
  BoxKind kind = BoxKind::forward;
  std::int64_t begin_ns = 0, end_ns = 0;  // in the iteration, from its begin
  std::int64_t record_ns = 0;             // length of the whole record
};

struct TimelineRow {
  std::string label;
  std::vector<TimelineBox> boxes;
};

bool has_box(const TraceRecord& record, const TimelineStep& step) {
  const bool has_row = record.kind == TraceKind::compute ||
                       record.kind == TraceKind::communication || record.kind == TraceKind::copy;
  const std::int64_t last_ns = std::max(record.end_ns - 1, record.begin_ns);
  return has_row && is_plausible(record) && record.begin_ns < step.end_ns &&
         last_ns >= step.begin_ns;
}

std::string row_label(TraceKind kind, std::int32_t lane, std::size_t track) {
  const char* word = kind == TraceKind::compute         ? "stream "
                     : kind == TraceKind::communication ? "channel "
                                                        : "copies ";
  const std::string label = word + std::to_string(lane);
  return track == 0 ? label : label + " (" + std::to_string(track + 1) + ")";
}

std::vector<TimelineRow> rows_of(const TimelineStep& step) {
  const RankTrace& trace = *step.trace;
  std::map<std::pair<TraceKind, std::int32_t>, LaneTracks> tracks;
  std::map<std::tuple<TraceKind, std::int32_t, std::size_t>, TimelineRow> rows;
  for (const TraceRecord& record : trace.records) {
    if (!has_box(record, step)) continue;
    const std::size_t track =
        tracks[{record.kind, record.lane}].place(record.begin_ns, record.end_ns);
    TimelineRow& row = rows[{record.kind, record.lane, track}];
    row.label = row_label(record.kind, record.lane, track);
    const std::string name = printable(
        record.name < trace.names.size() ? trace.names[record.name] : "", kBoxNameLimitBytes);
    row.boxes.push_back({.name = name,
                         .kind = box_kind_of(record, name),
                         .begin_ns = std::max(record.begin_ns, step.begin_ns) - step.begin_ns,
                         .end_ns = std::min(record.end_ns, step.end_ns) - step.begin_ns,
                         .record_ns = record.end_ns - record.begin_ns});
  }
  std::vector<TimelineRow> list;
  for (auto& [key, row] : rows) list.push_back(std::move(row));
  return list;
}

/// Returns the longest end of `name` that begins after a "." and fits; empty if none does.
std::string fitting_name(std::string_view name, double width) {
  while (true) {
    const auto columns = columns_of(name);
    if (columns < kLeastBoxName) return "";
    if (static_cast<double>(columns) * kCharacterWidth + 2 <= width) return std::string(name);
    const auto dot = name.find('.');
    if (dot == std::string_view::npos) return "";
    name.remove_prefix(dot + 1);
  }
}

std::string ns_text(std::int64_t ns) {
  return value_text(static_cast<double>(ns), ObjectiveUnit::nanoseconds);
}

/// An iteration with its place in the drawing.
struct PlacedStep {
  const TimelineStep* step = nullptr;
  std::vector<TimelineRow> rows;
  double top = 0;

  std::int64_t length_ns() const { return step->end_ns - step->begin_ns; }
  double rows_top() const { return top + kHeaderHeight; }
  double bottom() const { return rows_top() + kRowHeight * static_cast<double>(rows.size()); }
};

class TimelineDrawing {
 public:
  explicit TimelineDrawing(std::span<const TimelineStep> steps) {
    double top = kFirstStepTop;
    for (const TimelineStep& step : steps) {
      HOCKET_CHECK(step.trace != nullptr && step.end_ns > step.begin_ns,
                   "an iteration that ends after it begins");
      steps_.push_back({&step, rows_of(step), top});
      longest_ns_ = std::max(longest_ns_, steps_.back().length_ns());
      top = steps_.back().bottom() + kStepDistance;
    }
    bottom_ = top - kStepDistance + 4;
  }

  std::string svg() {
    Svg svg(kTimelineWidth, bottom_ + kAxisHeight + kTimelineLegendHeight, "Timeline of a step");
    for (const PlacedStep& step : steps_) draw_rows(svg, step);
    draw_axis(svg);
    for (const PlacedStep& step : steps_) {
      draw_header(svg, step);
      draw_boxes(svg, step);
    }
    draw_legend(svg);
    return svg.finish();
  }

 private:
  double x_of(std::int64_t ns) const {
    return kRowsLeft +
           (kRowsRight - kRowsLeft) * static_cast<double>(ns) / static_cast<double>(longest_ns_);
  }

  void draw_header(Svg& svg, const PlacedStep& step) const {
    const StepWindow window{0, {step.step->begin_ns, step.step->end_ns}};
    const auto measured =
        measure_windows({&window, 1}, busy_intervals_of(step.step->trace->records));
    const std::string title = step.step->title.empty() ? "" : step.step->title + ": ";
    svg.text({kRowsLeft, step.top + 15},
             title + ns_text(step.length_ns()) + " an iteration, " +
                 ns_text(measured.front().exposed_ns) + " exposed communication",
             SvgAnchor::start, kTimelineTitleSize);
    if (step.step->detail.empty()) return;
    svg.text({kRowsLeft, step.top + 33}, step.step->detail, SvgAnchor::start, kDetailSize);
  }

  /// Draws the rows as idle for the time of the iteration.
  void draw_rows(Svg& svg, const PlacedStep& step) const {
    double y = step.rows_top();
    for (const TimelineRow& row : step.rows) {
      svg.rectangle({kRowsLeft, y}, x_of(step.length_ns()) - kRowsLeft, kBoxHeight, kIdle);
      svg.text({kRowsLeft - 8, y + kBoxHeight / 2 + 4}, row.label, SvgAnchor::end);
      y += kRowHeight;
    }
  }

  void draw_boxes(Svg& svg, const PlacedStep& step) {
    double y = step.rows_top();
    for (const TimelineRow& row : step.rows) {
      for (const TimelineBox& box : row.boxes) draw_box(svg, box, y);
      y += kRowHeight;
    }
    const double end = x_of(step.length_ns());
    svg.line({end, step.rows_top() - 4}, {end, step.bottom()}, kTimelineInk, 1.5);
  }

  void draw_box(Svg& svg, const TimelineBox& box, double y) {
    const auto kind = static_cast<std::size_t>(box.kind);
    shown_[kind] = true;
    const double x = x_of(box.begin_ns), width = x_of(box.end_ns) - x;
    svg.rectangle({x, y}, std::max(width - kBoxGap, kLeastBoxWidth), kBoxHeight,
                  kBoxLooks[kind].fill, box.name + ", " + ns_text(box.record_ns));
    const std::string name = fitting_name(box.name, width);
    if (name.empty()) return;
    svg.text({x + width / 2, y + kBoxHeight / 2 + 3.5}, name, SvgAnchor::middle, kBoxTextSize);
  }

  /// Draws the axis, and lines that continue its ticks through all rows.
  void draw_axis(Svg& svg) const {
    if (steps_.empty()) return;
    std::int64_t apart_ns = 1;  // 1, 2 or 5 times a power of ten
    for (int i = 0; longest_ns_ / apart_ns > kMostAxisTicks; ++i) {
      apart_ns = i % 3 == 1 ? apart_ns / 2 * 5 : apart_ns * 2;
    }
    for (std::int64_t tick = 0; tick <= longest_ns_ / apart_ns; ++tick) {
      const double x = x_of(tick * apart_ns);
      char label[32];
      std::snprintf(label, sizeof label, "%.6g", static_cast<double>(tick * apart_ns) / 1e6);
      for (const PlacedStep& step : steps_) {
        svg.line({x, step.rows_top() - 4}, {x, step.bottom()}, kTimelineGrid);
      }
      svg.line({x, bottom_}, {x, bottom_ + 4}, kTimelineInk);
      svg.text({x, bottom_ + 17}, label, SvgAnchor::middle, kAxisTextSize);
    }
    svg.line({kRowsLeft, bottom_}, {kRowsRight, bottom_}, kTimelineInk);
    svg.text({kRowsLeft - 16, bottom_ + 17}, "ms", SvgAnchor::end, kAxisTextSize);
  }

  /// Names the colours in use. Without a backward pass the names of tasks tell nothing, so that
  /// computation is not called forward.
  void draw_legend(Svg& svg) const {
    const double y = bottom_ + kAxisHeight;
    double x = kRowsLeft;
    for (std::size_t kind = 0; kind < kBoxLooks.size(); ++kind) {
      if (!shown_[kind]) continue;
      const bool is_any = kind == static_cast<std::size_t>(BoxKind::forward) &&
                          !shown_[static_cast<std::size_t>(BoxKind::backward)];
      const std::string_view name = is_any ? "computation" : kBoxLooks[kind].name;
      svg.rectangle({x, y + 3}, 12, 12, kBoxLooks[kind].fill);
      svg.text({x + 17, y + 13}, name);
      x += 17 + 7.0 * static_cast<double>(name.size()) + 22;
    }
  }

  std::vector<PlacedStep> steps_;
  std::int64_t longest_ns_ = 1;
  double bottom_ = 0;  // lower edge of the last step
  std::array<bool, kBoxLooks.size()> shown_{};
};

}  // namespace

std::string step_timeline_svg(std::span<const TimelineStep> steps) {
  return TimelineDrawing(steps).svg();
}

TaskPhase phase_of(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto has = [&](std::string_view word) { return lower.find(word) != std::string::npos; };
  if (has("backward") || lower.ends_with(".dx") || lower.ends_with(".dw")) {
    return TaskPhase::backward;
  }
  if (has("update") || has("adam") || has("sgd") || has("optimizer") || lower.ends_with(".round")) {
    return TaskPhase::update;
  }
  return TaskPhase::forward;
}

}  // namespace hocket
