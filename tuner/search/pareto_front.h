#pragma once

// Which of several measurements no other one beats in every objective. Pure; thread-safe.

#include <cstddef>
#include <span>
#include <vector>

namespace hocket {

/// The indices, in order, of those `values` (of one size, lower is better) that no other dominates:
/// is at most as high everywhere and lower somewhere. Of equal ones the first stays.
std::vector<std::size_t> pareto_front(std::span<const std::vector<double>> values);

}  // namespace hocket
