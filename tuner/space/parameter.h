#pragma once

// One dimension of a search space: its name, domain, default, and mapping to the unit interval, in
// which searches work. Plain values; thread-compatible.
//
// Integers, levels and choices occupy bins of [0, 1): equal bins, or for a logarithmic integer the
// bin from log v to log(v + 1). A value encodes as the middle of its bin, so uniform points can
// reach every value. Reals map linearly, or on their logarithm.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "tuner/space/params.h"

namespace hocket {

struct IntegerRange {
  std::int64_t low = 0, high = 0;  ///< both included
  bool log = false;
  bool operator==(const IntegerRange&) const = default;
};

struct RealRange {
  double low = 0, high = 0;  ///< both included
  bool log = false;
  bool operator==(const RealRange&) const = default;
};

struct Choices {
  std::vector<std::string> names;
  bool operator==(const Choices&) const = default;
};

/// Ascending numbers, all integers or all reals; neighbouring levels count as equally far apart.
struct Levels {
  std::vector<ParameterValue> values;
  bool operator==(const Levels&) const = default;
};

using Domain = std::variant<IntegerRange, RealRange, Choices, Levels>;

struct Parameter {
  std::string name;
  Domain domain;
  ParameterValue default_value;
  bool operator==(const Parameter&) const = default;
};

/// Returns whether a variable that starts with HOCKET_ may be a parameter: it is a knob of PyTorch
/// (formats/knobs/torch.json), which hocket.torch applies.
bool is_own_knob(std::string_view name);

/// Checks the name ([A-Za-z_][A-Za-z0-9_]*, not starting with HOCKET_ unless it is_own_knob(), or
/// a knob of a region, a job or a tool, core/step/knob.h), the
/// range (low ≤ high, finite, low > 0 if logarithmic), the choices (non-empty, unique, UTF-8) or
/// the levels (non-empty, finite, ascending, of one type).
Result<void> validate_domain(const Parameter& parameter);

/// Checks validate_domain(), and that the default is inside the domain.
Result<void> validate(const Parameter& parameter);

/// Returns the default when none is given: the middle of a range, rounded down (the geometric
/// middle of a logarithmic one), the middle level, or the first choice. Requires a valid domain.
ParameterValue middle_value(const Domain& domain);

/// Returns the number of distinct values, at most UINT64_MAX, which also stands for a real range
/// with low < high.
std::uint64_t value_count(const Domain& domain);

/// Returns the value as the domain holds it (an integer becomes a real if the range or the levels
/// are real), or an error that says why it is not inside.
Result<ParameterValue> admit(const Domain& domain, const ParameterValue& value);

/// Returns the coordinate of `value` in [0, 1]. decode(encode(v)) == v for integers whose range (or
/// ratio, if logarithmic) stays below 2^40. Requires a value inside.
double encode(const Domain& domain, const ParameterValue& value);

/// Returns the value at `unit`, which is clamped to [0, 1]; always inside the domain.
ParameterValue decode(const Domain& domain, double unit);

/// Returns the `index`-th value, index < value_count(domain). Requires a domain other than a real
/// range of more than one point.
ParameterValue value_at(const Domain& domain, std::uint64_t index);

class JsonReader;
/// Reads "type" and the fields of that type, as in the document of a space (tuner/space/space.h).
void read_domain(JsonReader& reader, Domain& domain);

/// Returns "an integer from 1 to 4", "one of fifo, priority"; for messages.
std::string describe(const Domain& domain);

}  // namespace hocket
