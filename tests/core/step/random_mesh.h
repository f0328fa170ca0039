#pragma once

// Random meshes and sets of their axes, for tests of laws. Any thread.

#include <random>
#include <string>
#include <vector>

#include "core/step/mesh.h"

namespace hocket {

/// Up to four axes on hosts that fit them.
inline Mesh random_mesh(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t end) { return static_cast<std::int64_t>(random() % end); };
  static const std::vector<std::string> names{"pipeline", "data", "shard", "tensor"};
  std::vector<MeshAxis> axes;
  RankGrid grid;
  for (std::int64_t i = below(5); i > 0; --i) {
    axes.push_back({names[axes.size()], 1 + below(4)});
    grid.ranks *= axes.back().size;
  }
  std::vector<std::int64_t> fitting;
  for (std::int64_t host = 1; host <= grid.ranks; ++host) {
    grid.ranks_per_host = host;
    if (grid.ranks % host == 0 && Mesh::make(axes, grid)) fitting.push_back(host);
  }
  grid.ranks_per_host = fitting[static_cast<std::size_t>(below(fitting.size()))];
  return Mesh::make(axes, grid).value();
}

/// Some of the axes, perhaps none, or the set of all.
inline AxisSet random_axes(const Mesh& mesh, std::mt19937_64& random) {
  if (random() % 4 == 0) return {};
  AxisSet axes = AxisSet::none();
  for (std::size_t i = 0; i < mesh.axes().size(); ++i)
    if (random() % 2 == 0) axes = axes.with(AxisSet::of(i));
  return axes;
}

/// A set of axes, or a tier of it.
inline CollectiveGroup random_group(const Mesh& mesh, std::mt19937_64& random) {
  return {random_axes(mesh, random), kGroupTiers[random() % kGroupTiers.size()]};
}

}  // namespace hocket
