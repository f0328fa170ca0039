#pragma once

// The kinds of lanes in a timeline: those of a trace's records, and what is derived from them.
// Pure.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

/// In the order of a rank's lanes.
enum class LaneKind : std::uint8_t {
  iteration,
  /// Time in which a rank communicates and computes nothing.
  exposed,
  compute,
  communication,
  copy,
  range,
  call,
};

inline constexpr std::size_t kLaneKinds = 7;

/// "iteration", "exposed", and the words of profiler/formats/category.h.
std::string_view to_string(LaneKind kind);

/// Returns nothing for the empty word, which stands for any kind; invalid_argument for another word
/// that no kind has.
Result<std::optional<LaneKind>> lane_kind_from(std::string_view word);

}  // namespace hocket
