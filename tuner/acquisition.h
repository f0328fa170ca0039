#pragma once

// How much a point is worth trying, given what a model believes of it. Pure functions; thread-safe.

namespace hocket {

/// Logarithm of the expected improvement below `best` of a value believed normal(mean, deviation²):
/// log E[max(best − Y, 0)] (Jones et al., J. Global Optimization 1998). The logarithm keeps points
/// apart where the improvement itself would underflow to 0 (Ament et al., NeurIPS 2023).
/// Requires deviation > 0.
double log_expected_improvement(double mean, double deviation, double best);

}  // namespace hocket
