#pragma once

// Names of regions. A region of a model is a path of names, "block3.attention"; what a pass adds or
// repeats is in the region of the operation that it comes from, with a mark behind it:
// "block3.attention/backward/micro_batch1". So "/" begins the marks. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

/// The operations of the derivative.
inline constexpr std::string_view kBackward = "/backward";
/// Operations that are carried out again for the derivative.
inline constexpr std::string_view kRecomputed = "/recomputed";
/// The optimiser.
inline constexpr std::string_view kUpdate = "/update";
/// Followed by the number of the micro-batch, from 0.
inline constexpr std::string_view kMicroBatch = "/micro_batch";

/// Returns the part of a region's name that the model gave it, without marks.
std::string_view model_region(std::string_view region);
/// Returns the part of a model to which a region belongs, at most two names of it: what is
/// communicated together.
std::string part_of_model(std::string_view region);
bool has_mark(std::string_view region, std::string_view mark);
/// Returns the number of the micro-batch, if the region has one.
std::optional<std::int64_t> micro_batch_of(std::string_view region);

/// invalid_argument for a pattern that can match no region. A pattern is a path in which "*" stands
/// for any letters of a name: "block*.attention".
Result<void> check_region_pattern(std::string_view pattern);
/// Returns the region that the pattern matches, which is `region` or one around it, without marks:
/// "block*" matches "block3" of "block3.attention/backward". None if it matches neither.
std::optional<std::string_view> matched_region(std::string_view pattern, std::string_view region);

}  // namespace hocket
