#pragma once

// One knob out of the JSON form of a configuration, which leaves out what has its default. Pure
// functions; thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

struct KnobValue {
  /// The value of an integer knob; of a choice the index of its word among Knob::choices, which is
  /// that of the enumerator.
  std::int64_t number = 0;
  /// The word of a choice, which lives as long as the program; empty for an integer knob.
  std::string_view word = {};

  bool operator==(const KnobValue&) const = default;
};

/// Reads the knob called `name`, which may be one of a region ("regions.NAME.KNOB"), from
/// `document`, the JSON form of a configuration or a part of it. An absent knob has its default. A
/// region without a value of its own has that of the whole step or, for `priority`, which the whole
/// step does not have, the knob's lowest. Reads nothing else of `document` and never throws.
/// invalid_argument names the field and its allowed range, or for an unknown name the nearest knob.
Result<KnobValue> read_knob(const nlohmann::json& document, std::string_view name);

}  // namespace hocket
