#pragma once

// Timelines as the daemon answers them: docs/openapi.json has the fields. Names are valid UTF-8, so
// that the documents can be written. Pure.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "profiler/timeline/timeline.h"

namespace hocket {

/// Returns everything but the records:
/// `{"end_ns":…,"records":…,"names":[…],"ranks":[…],"lanes":[…], "iterations":[…],"notes":[…]}`.
nlohmann::json to_json(const Timeline& timeline);

/// Absent fields are unknown.
nlohmann::json to_json(const RecordDetails& record);
nlohmann::json to_json(const RangeFigures& figures);
nlohmann::json to_json(const TimelineMatches& matches);

/// Returns a tile's words as bytes, the lowest of each word first.
std::string tile_bytes(std::span<const std::uint32_t> words);

}  // namespace hocket
