#pragma once

// The search for a Pareto front: each suggestion minimises another weighting of the objectives,
// from one objective alone to all alike (ParEGO: Knowles, "ParEGO: a hybrid algorithm with on-line
// landscape approximation for expensive multiobjective optimization problems", IEEE TEC 10(1),
// 2006, sections III-A and III-B). What is recommended has the lowest first objective.

#include <memory>
#include <span>
#include <vector>

#include "tuner/search/search.h"

namespace hocket {

/// `objectives` is at least 2; an evaluation with a value has as many less one others.
std::unique_ptr<Search> make_pareto_search(Space space, std::uint64_t seed, std::size_t objectives);

/// Weights of the `index`-th suggestion: at least 0, of sum 1; every other one is of an objective
/// alone, in turn, and the rest are spread evenly.
std::vector<double> pareto_weights(std::size_t objectives, std::uint64_t index, std::uint64_t seed);

/// The augmented Tchebycheff value of each of `values`, whose objectives are first brought to
/// [0, 1]: by their logarithms where all are positive. At least 1, so that it has a logarithm.
std::vector<double> scalarized(std::span<const std::vector<double>> values,
                               std::span<const double> weights);

}  // namespace hocket
