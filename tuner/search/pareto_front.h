#pragma once

// The Pareto front of measurements with several objectives. Pure; thread-safe.

#include <cstddef>
#include <span>
#include <vector>

namespace hocket {

/// Returns the indices, ascending, of the `values` (all of one size, lower is better) that no other
/// dominates by being at most as high in every objective and lower in at least one. Of equal values
/// the first stays.
std::vector<std::size_t> pareto_front(std::span<const std::vector<double>> values);

}  // namespace hocket
