#pragma once

// Search for a Pareto front: each suggestion minimises a different weighting of the objectives,
// from a single objective to equal weights (ParEGO: Knowles, "ParEGO: a hybrid algorithm with
// on-line landscape approximation for expensive multiobjective optimization problems", IEEE TEC
// 10(1), 2006, sections III-A and III-B). The recommendation has the lowest first objective.

#include <memory>
#include <span>
#include <vector>

#include "tuner/search/search.h"

namespace hocket {

/// Creates the search. `objectives` is at least 2; an evaluation with a value must have
/// `objectives` − 1 further values.
std::unique_ptr<Search> make_pareto_search(Space space, std::uint64_t seed, std::size_t objectives);

/// Returns the weights of the `index`-th suggestion: at least 0, of sum 1. Every other suggestion
/// weighs a single objective, in turn; the rest are spread evenly.
std::vector<double> pareto_weights(std::size_t objectives, std::uint64_t index, std::uint64_t seed);

/// Returns the augmented Tchebycheff value of each of `values`, with the objectives first scaled to
/// [0, 1], on logarithms if all are positive. Values are at least 1, so that they have logarithms.
std::vector<double> scalarized(std::span<const std::vector<double>> values,
                               std::span<const double> weights);

}  // namespace hocket
