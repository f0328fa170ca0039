#pragma once

// One iteration of a simulated rank as boxes on lanes, for a drawing. Pure; thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/trace/trace_sink.h"
#include "profiler/metrics/iterations.h"

namespace hocket {

struct PredictedTimeline {
  struct Lane {
    TraceKind kind = TraceKind::compute;
    std::int32_t lane = 0;

    auto operator<=>(const Lane&) const = default;
  };
  struct Box {
    std::uint32_t lane = 0, name = 0;  ///< indices into `lanes` and `names`
    std::int64_t begin_ns = 0, end_ns = 0;
  };

  std::int64_t rank = 0;
  std::int64_t end_ns = 0;  ///< length of the iteration, which begins at 0
  std::vector<Lane> lanes;  ///< sorted
  std::vector<std::string> names;
  std::vector<Box> boxes;    ///< by begin, cut at the iteration's ends
  std::size_t left_out = 0;  ///< boxes beyond kMostPredictedBoxes
};

inline constexpr std::size_t kMostPredictedBoxes = 20'000;

/// Returns the last iteration whose end was recorded, empty without one. The names of the recorded
/// events must be valid (Simulation::names).
PredictedTimeline last_iteration(const TraceRecorder& recorded, std::int64_t rank);

/// Returns `{"end_ns":…,"names":[…],"lanes":[{"rank":…,"kind":…,"lane":…,"title":…},…],
/// "boxes":[[lane,begin_ns,end_ns,name],…],"left_out":…}`.
nlohmann::json to_json(const PredictedTimeline& timeline);

}  // namespace hocket
