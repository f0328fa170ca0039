#pragma once

// The units of objectives, and how their values are formatted and parsed. Pure functions;
// thread-safe.

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "tuner/trial/objective.h"

namespace hocket {

struct ObjectiveUnit {
  enum class Kind {
    nanoseconds,  ///< wall, report
    bytes,        ///< memory
    own,          ///< regex, file: the program's own unit
  };
  Kind kind = Kind::own;
  std::string name = {};  ///< of the program's own unit, such as "tokens/s"; may be empty

  static const ObjectiveUnit nanoseconds, bytes, none;

  bool operator==(const ObjectiveUnit&) const = default;
};

inline const ObjectiveUnit ObjectiveUnit::nanoseconds{ObjectiveUnit::Kind::nanoseconds};
inline const ObjectiveUnit ObjectiveUnit::bytes{ObjectiveUnit::Kind::bytes};
inline const ObjectiveUnit ObjectiveUnit::none{};

ObjectiveUnit unit_of(const Objective& objective);

/// Returns "ns", "bytes" or the name of the program's own unit, as in JSON.
std::string to_string(const ObjectiveUnit& unit);

/// Returns "411.2 ms", "5.2 GiB", "1200 tokens/s", or the plain number; four significant digits,
/// six for a number in the program's own unit.
std::string value_text(double value, const ObjectiveUnit& unit);

/// Parses a finite number of at least 0 in `unit`, directly followed by an optional scale: for a
/// time ns, us, ms, s, m or h; for bytes the units of tuner/space/size_text.h; for the program's
/// own unit its name.
Result<double> parse_value(std::string_view text, const ObjectiveUnit& unit);

}  // namespace hocket
