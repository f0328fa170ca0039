#pragma once

// Draws iterations as an SVG timeline: a row per compute stream, channel and copy engine, a box per
// record, coloured by what it does. Several iterations are drawn one above the other on the same
// time scale. Pure; thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/trace/rank_trace.h"

namespace hocket {

/// One iteration of one rank. `trace` must not be null; requires end_ns > begin_ns.
struct TimelineStep {
  std::string title;                      ///< in front of the iteration's times
  std::string detail;                     ///< second line, in smaller type
  const RankTrace* trace = nullptr;       ///< may contain records outside the iteration
  std::int64_t begin_ns = 0, end_ns = 0;  ///< the iteration, in the rank's clock
};

/// Returns the drawing. Every plausible record of a stream, channel or copy engine that overlaps an
/// iteration has one box, cut at the iteration's ends and named in a tooltip; ranges and calls of
/// host threads are not drawn. A box contains its name, or the end of it after a ".", if that fits.
/// Overlapping records of a lane are in further rows. The time of the iteration and its exposed
/// communication are those of docs/METRICS.md.
std::string step_timeline_svg(std::span<const TimelineStep> steps);

enum class TaskPhase { forward, backward, update };

/// Returns the pass that a computation's name tells: backward if it contains "backward" or ends in
/// ".dx" or ".dw"; update if it contains "update", "adam", "sgd" or "optimizer" or ends in
/// ".round"; otherwise forward. Upper case is as lower case.
TaskPhase phase_of(std::string_view name);

}  // namespace hocket
