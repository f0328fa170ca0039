#pragma once

// One dimension of a search space: its name, what it may hold, its default, and its place on the
// unit interval, where the search works. Plain values; thread-compatible.
//
// Integers, levels and choices take bins of [0, 1): equal bins, or for a logarithmic integer the
// bin from log v to log(v + 1). A value encodes as the middle of its bin, so every value can be
// reached by uniform points. Reals map linearly, or on their logarithm.

#include <cstdint>
#include <string>
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

/// Numbers in rising order, all of them integers or all of them reals; neighbours count as equally
/// far apart.
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

/// Checks the name ([A-Za-z_][A-Za-z0-9_]*, not starting with HOCKET_) and the range (low ≤ high,
/// finite, low > 0 where logarithmic), the choices (non-empty, unique, UTF-8) or the levels
/// (non-empty, finite, rising, of one type).
Result<void> validate_domain(const Parameter& parameter);

/// validate_domain(), and that the default is inside.
Result<void> validate(const Parameter& parameter);

/// The value used when none is named: the middle of a range, rounded down (the geometric middle of
/// a logarithmic one) or of the levels, or the first choice. Requires a valid domain.
ParameterValue middle(const Domain& domain);

/// Number of distinct values, at most UINT64_MAX; a real range with low < high counts as that.
std::uint64_t size(const Domain& domain);

/// The value as the domain holds it (an integer becomes a real where the range or the levels are
/// real), or why it is not inside.
Result<ParameterValue> admit(const Domain& domain, const ParameterValue& value);

/// Where `value` lies in [0, 1]. decode(encode(v)) == v for integers whose range (or ratio, where
/// logarithmic) stays below 2^40. Requires a value inside.
double encode(const Domain& domain, const ParameterValue& value);

/// The value at `unit`, which is clamped to [0, 1]; always inside the domain.
ParameterValue decode(const Domain& domain, double unit);

/// The `index`-th value, index < size(domain). Requires a domain that is not a real range, or a
/// real range of one point.
ParameterValue value_at(const Domain& domain, std::uint64_t index);

/// "an integer from 1 to 4", "one of fifo, priority"; for messages.
std::string describe(const Domain& domain);

}  // namespace hocket
