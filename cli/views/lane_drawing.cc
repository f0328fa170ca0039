#include "cli/views/lane_drawing.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "cli/output/columns.h"
#include "core/base/check.h"
#include "core/base/text.h"
#include "profiler/formats/category.h"
#include "profiler/formats/lane_tracks.h"
#include "tuner/trial/objective_unit.h"

namespace hocket {
namespace {

constexpr std::size_t kLaneDrawingNameLimitBytes = 400;
/// Minimum cells per label of the axis.
constexpr std::size_t kTickCells = 12;
/// Minimum cells for a cut name; less is not informative.
constexpr std::size_t kLeastNameCells = 3;

struct Look {
  std::string_view lane;  ///< name of the kind of lane
  char open, fill;
};

constexpr std::array<Look, 5> kLooks{{
    {"stream", '[', '#'},
    {"channel", '(', '='},
    {"copies", '{', '+'},
    {"thread", '<', '-'},
    {"calls", '<', '.'},
}};

const Look& look_of(TraceKind kind) {
  return kLooks[static_cast<std::size_t>(kind)];
}

/// Returns a name as drawn. Replaces spaces, which would look like idle time.
std::string drawn_name(const std::string& name) {
  std::string text = printable(name, kLaneDrawingNameLimitBytes);
  std::ranges::replace(text, ' ', '_');
  return text;
}

/// Maps times to cells.
class Cells {
 public:
  Cells(std::int64_t begin_ns, std::int64_t end_ns, std::size_t count) {
    const auto cells = static_cast<std::int64_t>(count);
    const std::int64_t length = std::max(end_ns - begin_ns, cells);
    // Computed in two terms, because the length times the number of cells may overflow.
    for (std::int64_t i = 0; i <= cells; ++i) {
      bounds_.push_back(begin_ns + i * (length / cells) + i * (length % cells) / cells);
    }
  }

  std::size_t size() const { return bounds_.size() - 1; }
  std::int64_t begin_ns() const { return bounds_.front(); }
  std::int64_t end_ns() const { return bounds_.back(); }
  /// Returns the cell of a time within the range.
  std::size_t at(std::int64_t ns) const {
    const auto after = std::upper_bound(bounds_.begin(), bounds_.end(), ns);
    return static_cast<std::size_t>(after - bounds_.begin()) - 1;
  }
  bool overlaps(const TraceRecord& record) const {
    const std::int64_t last_ns = std::max(record.end_ns - 1, record.begin_ns);
    return record.begin_ns < end_ns() && last_ns >= begin_ns();
  }

 private:
  std::vector<std::int64_t> bounds_;
};

/// One line of the drawing.
class Line {
 public:
  Line(const Cells& cells, bool has_names)
      : cells_(cells), has_names_(has_names), text_(cells.size(), ' ') {}

  void draw(const TraceRecord& record, const std::string& name) {
    const Look& look = look_of(record.kind);
    const std::int64_t begin_ns = std::max(record.begin_ns, cells_.begin_ns());
    const std::int64_t end_ns = std::min(record.end_ns, cells_.end_ns());
    const std::size_t first = cells_.at(begin_ns);
    const std::size_t last = cells_.at(std::max(end_ns - 1, begin_ns));
    for (std::size_t i = first; i <= last; ++i) text_[i] = look.fill;
    if (last == first) return;
    if (record.begin_ns >= cells_.begin_ns()) text_[first] = look.open;
    // The cells between the first and the last one show only this record.
    const std::size_t room = last - first - 1;
    if (!has_names_ || room < kLeastNameCells) return;
    std::string text = drawn_name(name);
    const std::int64_t length_ns = end_ns - begin_ns;
    const bool is_longest = length_ns > longest_ns_;
    if (is_longest) {
      longest_ns_ = length_ns;
      longest_.reset();
    }
    if (columns_of(text) <= room) {
      names_.push_back({first + 1, std::move(text)});
    } else if (is_longest) {
      text = fitted(text, room);
      std::ranges::replace(text, ' ', look.fill);
      longest_ = Name{first + 1, std::move(text)};
    }
  }

  std::string text() const {
    std::vector<Name> names = names_;
    if (longest_) names.push_back(*longest_);
    std::ranges::sort(names, {}, &Name::cell);
    std::string joined;
    std::size_t at = 0;
    for (const Name& name : names) {
      joined += text_.substr(at, name.cell - at) + name.text;
      at = name.cell + columns_of(name.text);
    }
    return joined + text_.substr(at);
  }

 private:
  struct Name {
    std::size_t cell = 0;
    std::string text;
  };

  const Cells& cells_;
  const bool has_names_;
  std::string text_;  // without names
  std::vector<Name> names_;
  // Name of the longest record, if it had to be cut.
  std::optional<Name> longest_;
  std::int64_t longest_ns_ = 0;
};

using LaneKey = std::pair<TraceKind, std::int32_t>;

struct Lane {
  LaneTracks tracks;
  std::vector<Line> lines;
};

std::string label_of(const LaneKey& key, std::size_t line, std::size_t tracks) {
  std::string label = std::string(look_of(key.first).lane) + " " + std::to_string(key.second);
  if (line == 0) return label;
  label += " (" + std::to_string(line + 1);
  if (line + 1 == kMostLinesOfLane && tracks > kMostLinesOfLane) label += "+";
  return label + ")";
}

bool is_drawn(const TraceRecord& record, const Cells& cells, bool calls) {
  return is_plausible(record) && (calls || record.kind != TraceKind::call) &&
         cells.overlaps(record);
}

/// Returns the maximum width of a label, so that the cells can be laid out before they are filled.
std::size_t label_columns(const std::set<LaneKey>& keys, std::size_t columns) {
  std::size_t widest = 0;
  for (const LaneKey& key : keys) {
    widest = std::max(widest, label_of(key, kMostLinesOfLane - 1, kMostLinesOfLane + 1).size());
  }
  return std::min(widest, columns / 3);
}

/// Returns the step of the axis: 1, 2 or 5 times a power of ten.
std::int64_t tick_ns(const Cells& cells) {
  const std::int64_t length = cells.end_ns() - cells.begin_ns();
  const auto ticks =
      std::max<std::int64_t>(static_cast<std::int64_t>(cells.size() / kTickCells), 1);
  std::int64_t step = 1;
  for (int i = 0; step <= (length - 1) / ticks && step <= length / 3; ++i) {
    step = i % 3 == 1 ? step / 2 * 5 : step * 2;
  }
  return step;
}

std::string axis_of(const Cells& cells) {
  std::string axis(cells.size(), ' ');
  const std::int64_t step = tick_ns(cells);
  const std::int64_t length = cells.end_ns() - cells.begin_ns();
  std::size_t free = 0;
  for (std::int64_t tick = 0; tick <= (length - 1) / step; ++tick) {
    const std::int64_t at = tick * step;
    const std::size_t cell = cells.at(cells.begin_ns() + at);
    const std::string label = "|" + value_text(static_cast<double>(at), ObjectiveUnit::nanoseconds);
    if (cell < free || cell + label.size() > axis.size()) continue;
    axis.replace(cell, label.size(), label);
    free = cell + label.size() + 1;
  }
  return axis;
}

}  // namespace

std::vector<std::string> draw_lanes(const RankTrace& trace, const LaneDrawingOptions& options) {
  HOCKET_CHECK(options.columns >= kLeastColumns && options.columns <= kMostColumns,
               "a drawing has the columns that it may have");
  HOCKET_CHECK(options.end_ns > options.begin_ns, "a stretch of time that ends after it begins");
  const Cells any(options.begin_ns, options.end_ns, static_cast<std::size_t>(options.columns));
  std::set<LaneKey> keys;
  for (const TraceRecord& record : trace.records) {
    if (is_drawn(record, any, options.calls)) keys.insert({record.kind, record.lane});
  }
  const std::size_t all = keys.size();
  while (keys.size() > kMostDrawnLanes) keys.erase(std::prev(keys.end()));

  const auto columns = static_cast<std::size_t>(options.columns);
  const std::size_t label = label_columns(keys, columns);
  const Cells cells(options.begin_ns, options.end_ns, columns - label - 2);
  std::map<LaneKey, Lane> lanes;
  for (const TraceRecord& record : trace.records) {
    const LaneKey key{record.kind, record.lane};
    if (!is_drawn(record, cells, options.calls) || !keys.contains(key)) continue;
    Lane& lane = lanes[key];
    const auto line =
        std::min(lane.tracks.place(record.begin_ns, record.end_ns), kMostLinesOfLane - 1);
    // The last line has no names, because its records overlap and would tear them.
    if (line >= lane.lines.size()) lane.lines.emplace_back(cells, line + 1 < kMostLinesOfLane);
    lane.lines[line].draw(record, record.name < trace.names.size() ? trace.names[record.name] : "");
  }

  std::vector<std::string> lines;
  const auto add = [&](std::string name, const std::string& text, char border) {
    name.resize(label, ' ');
    lines.push_back(name + border + text + border);
  };
  for (auto& [key, lane] : lanes) {
    for (std::size_t i = 0; i < lane.lines.size(); ++i) {
      add(label_of(key, i, lane.tracks.size()), lane.lines[i].text(), '|');
    }
  }
  add("", axis_of(cells), ' ');
  if (all > keys.size()) {
    lines.push_back("(" + std::to_string(all - keys.size()) + " further lanes are not drawn)");
  }
  return lines;
}

std::string lane_legend(const RankTrace& trace, bool calls) {
  std::set<TraceKind> kinds;
  for (const TraceRecord& record : trace.records) {
    if (calls || record.kind != TraceKind::call) kinds.insert(record.kind);
  }
  std::string legend;
  for (const TraceKind kind : kinds) {
    legend += (legend.empty() ? "" : "   ") + std::string(1, look_of(kind).fill) + " " +
              std::string(category_of(kind));
  }
  return legend;
}

}  // namespace hocket
