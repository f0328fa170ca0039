#pragma once

// A file that says where the regions of a model live, apart from the model: how its values are
// divided over the ranks of a mesh. YAML; docs/formats/signals.md has all of it.
//
//   mesh: {data: 2, tensor: 4}
//   regions:
//     "*":                    {batch: data, parameters: {zero: 1, axis: data}}
//     "block*.attention.qkv": {columns: tensor}
//     "block*.attention.out": {rows: tensor}
//
// Plain values; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/layout/layout_plan.h"
#include "core/step/mesh.h"

namespace hocket {

/// Names of axes, outermost first, with the line that has them.
struct NamedAxes {
  std::vector<std::string> names;
  std::int64_t line = 0;
};

/// The dimension of parameters that axes divide.
enum class ParameterDimension : std::uint8_t {
  columns,  ///< of products: the outputs of a weight [outputs, inputs], and its bias
  rows,     ///< the inputs of a weight
  experts,  ///< of weights [experts, outputs, inputs]
  counted,  ///< by its number
};

struct DividedParameters {
  ParameterDimension of = ParameterDimension::columns;
  std::int64_t dimension = 0;  ///< counted from the outermost, or from the innermost, −1
  NamedAxes axes;
  /// The ranks that GT's `shard: {axis, workers}` counts, whose axis is found by them; 0: named.
  std::int64_t workers = 0;
};

/// Optimiser states are divided over axes (stage 1 of ZeRO, Rajbhandari et al., SC 2020),
/// gradients, too (2), and parameters, which are gathered where they are used (3).
struct ZeroSignal {
  std::int64_t stage = 0;
  NamedAxes axes;
};

/// The signals of the regions, or the parameters, that a pattern matches.
struct RegionSignal {
  std::string pattern = {};
  std::int64_t line = 0;
  std::optional<NamedAxes> batch = {};     ///< divides the outermost dimension of inputs
  std::optional<NamedAxes> context = {};   ///< divides the next one, the positions of sequences
  std::optional<NamedAxes> sequence = {};  ///< divides normalisations and dropouts along positions
  std::optional<ZeroSignal> zero = {};
  std::vector<DividedParameters> parameters = {};
};

struct Signals {
  std::vector<MeshAxis> mesh;
  std::vector<RegionSignal> regions;  ///< later ones prevail

  std::int64_t ranks() const;
};

/// Most bytes of a file, and ranks of its mesh.
inline constexpr std::size_t kMostSignalsBytes = 1 << 20;
inline constexpr std::int64_t kMostSignalRanks = 1 << 20;

/// Reads the form. invalid_argument with the line, the word that is not known and the nearest one.
Result<Signals> parse_signals(std::string_view text);

/// Returns the signals of data parallelism over `ranks`.
Signals data_parallel_signals(std::int64_t ranks);

/// Returns where a graph's inputs and parameters are: the graph of a step, with its optimiser
/// (core/graph/passes.h). invalid_argument with the line, the region and the dimension for what
/// does not fit, and for a pattern that matches nothing.
Result<LayoutRequest> request_layouts(const Signals& signals, const Graph& graph, const Mesh& mesh);

}  // namespace hocket
