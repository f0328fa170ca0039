#pragma once

// Values on the ranks of a mesh: parts of them, and what programs of ranks compute of these, for
// tests that compare them with one rank. One thread.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/interpreter/interpreter.h"
#include "core/layout/layout.h"
#include "core/layout/rank_program.h"

namespace hocket {

/// A mesh of 8 ranks on two hosts.
inline Mesh data_tensor() {
  return Mesh::make({{"data", 2}, {"tensor", 4}}, {8, 4}).value();
}

/// Returns the part of a value that a rank has.
template <class T>
BasicNumbers<T> local_part(const BasicNumbers<T>& whole, const Layout& layout, const Mesh& mesh,
                           std::int64_t rank) {
  const Shape& shape = whole.type.shape;
  BasicNumbers<T> part{{whole.type.numbers, local_shape(layout, shape, mesh)}, {}};
  std::vector<std::vector<std::int64_t>> indices;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    indices.emplace_back();
    for (const IndexRange& range : local_indices(layout, d, shape[d], mesh, rank))
      for (std::int64_t i = range.begin; i < range.end; ++i) indices.back().push_back(i);
  }
  std::vector<std::size_t> at(shape.size());
  for (std::int64_t left = part.type.count(); left > 0; --left) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) place = place * shape[d] + indices[d][at[d]];
    part.values.push_back(whole.values[static_cast<std::size_t>(place)]);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < indices[d].size()) break;
      at[d] = 0;
    }
  }
  return part;
}

inline RankGroups groups_of(const Mesh& mesh) {
  return [&mesh](std::string_view group, std::size_t rank) -> Result<std::vector<std::size_t>> {
    const auto parsed = mesh.parse_group(group);
    if (!parsed) return failure(parsed.error());
    const auto ranks = mesh.ranks_of(*parsed, static_cast<std::int64_t>(rank));
    return std::vector<std::size_t>(ranks.begin(), ranks.end());
  };
}

/// Returns the first difference between what all ranks compute and what one rank does, or "".
inline std::string difference_on_ranks(const Graph& graph, const LayoutPlan& plan,
                                       const ResidueLeaves& leaves) {
  const auto expected = interpret_exactly(graph, leaves);
  if (!expected) return "one rank: " + expected.error().message;
  std::vector<Graph> programs;
  std::vector<ResidueLeaves> parts;
  const std::int64_t ranks = plan.mesh.grid().ranks;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    auto program = program_of_rank(graph, plan, rank);
    if (!program) return "rank " + std::to_string(rank) + ": " + program.error().message;
    programs.push_back(std::move(*program));
    parts.emplace_back();
    for (const auto& [name, numbers] : leaves)
      parts.back()[name] = local_part(numbers, plan.layout(*graph.leaf(name)), plan.mesh, rank);
  }
  const auto found = interpret_ranks_exactly(programs, parts, groups_of(plan.mesh));
  if (!found) return found.error().message;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
      const GraphOutput& output = graph.outputs()[i];
      const Layout& layout = plan.layout(output.value, plan.outputs[i]);
      const Residues part = local_part((*expected)[i], layout, plan.mesh, rank);
      if (part != (*found)[static_cast<std::size_t>(rank)][i])
        return "output \"" + output.name + "\" of rank " + std::to_string(rank) + ", " +
               to_string(layout, plan.mesh) + ", differs";
    }
  }
  return "";
}

/// Returns a mesh of `ranks` ranks of up to three axes, on one host or two.
inline Mesh random_mesh(std::int64_t ranks, std::mt19937_64& random) {
  std::vector<MeshAxis> axes;
  const char* const names[] = {"outer", "middle", "inner"};
  std::int64_t left = ranks;
  const std::size_t count = 1 + random() % 3;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t size = left;
    if (i + 1 < count) {
      do {
        size = std::int64_t{1} << (random() % 4);
      } while (left % size != 0);
    }
    axes.push_back({names[i], size});
    left /= size;
  }
  auto mesh = Mesh::make(axes, {ranks, random() % 2 ? ranks : ranks / 2});
  return mesh.value();
}

/// Returns a layout of a value that fits its shape, often divided.
inline Layout random_layout(const Shape& shape, const Mesh& mesh, std::mt19937_64& random,
                            bool may_be_partial = false) {
  Layout layout(shape.size());
  for (std::size_t axis = 0; axis < mesh.axes().size(); ++axis) {
    if (may_be_partial && random() % 5 == 0) {
      layout.make_partial(axis);
      continue;
    }
    if (shape.empty() || random() % 3 == 0) continue;
    Layout divided = layout;
    const std::int64_t parts = random() % 3 == 0 ? 2 : 1;
    divided.divide(axis, {random() % shape.size(), parts});
    if (check_layout(divided, shape, mesh)) layout = divided;
  }
  return layout;
}

}  // namespace hocket
