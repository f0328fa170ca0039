#pragma once

// The beliefs of an explanation's model over any two parameters. Thread-safe, also on one
// explanation.

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "tuner/explain/explanation.h"

namespace hocket {

/// Returns the names of the parameters that have more than one value, most important first.
/// Requires an explanation of `space`.
std::vector<std::string> varying_parameters(const Space& space, const Explanation& explanation);

/// Returns the belief over two parameters. Requires an explanation of `space` by explain_search().
/// invalid_argument for a name that is not among varying_parameters(), with those that are, and for
/// one parameter twice.
Result<BeliefSurface> surface_over(const Space& space, const Explanation& explanation,
                                   std::string_view x, std::string_view y);

}  // namespace hocket
