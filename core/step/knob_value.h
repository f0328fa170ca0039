#pragma once

// One knob out of the JSON form of a configuration, which leaves out what has its default. Pure
// functions; thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

struct KnobValue {
  /// The value of an integer knob; of a choice of the scheduler's the index of its word among
  /// Knob::choices, which is that of the enumerator.
  std::int64_t number = 0;
  /// The word of a choice; empty for an integer knob.
  std::string word = {};

  bool operator==(const KnobValue&) const = default;
};

/// Reads the knob called `name`, which may be one of a region ("regions.NAME.KNOB") or of the job's
/// own ("job.NAME"), from `document`, the JSON form of a configuration or a part of it. An absent
/// knob has its default, except that one of the job's own is not_found. `number` of a choice of the
/// job's own is 0, since the document does not have the other words. A region without a value of
/// its own has that of the whole step or, for `priority`, which the whole step does not have, the
/// knob's lowest. Reads nothing else of `document` and never throws. invalid_argument names the
/// field and its allowed range, or for an unknown name the nearest knob.
Result<KnobValue> read_knob(const nlohmann::json& document, std::string_view name);

}  // namespace hocket
