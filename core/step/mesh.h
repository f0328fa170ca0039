#pragma once

// Ranks as a product of named axes of parallelism, such as pipeline × data × tensor, on hosts with
// equally many ranks each. This is the one place that decides which ranks are in which group, in
// which order, who owns which block of a scattered buffer, and whether a group crosses the links
// between hosts. Pure.
//
// The first axis is the outermost: neighbours in the last one have adjacent ranks. Ranks are
// numbered host by host, so inner axes lie inside hosts and outer ones between them; one axis may
// lie in both and is then a product of two. The ranks of a set of axes form a grid of hosts ×
// places of their own (core/step/rank_grid.h), whose hosts are those that they share.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/step/collective_group.h"
#include "core/step/rank_grid.h"

namespace hocket {

struct MeshAxis {
  std::string name;
  std::int64_t size = 1;

  bool operator==(const MeshAxis&) const = default;
};

/// Limit on an axis's name, which is of lower-case letters, digits and "_", and begins with a
/// letter.
inline constexpr std::size_t kMostAxisNameBytes = 32;

class Mesh {
 public:
  /// A single rank.
  Mesh() : Mesh(RankGrid{}) {}
  /// Ranks without named axes. Requires a grid in which the hosts' ranks divide all ranks.
  explicit Mesh(const RankGrid& grid);
  /// invalid_argument for more than kMostAxes axes, names that are none, are given twice or are
  /// those of groups ("world", "whole", "inside", "between"), sizes whose product is not the number
  /// of ranks, and hosts that divide no axis.
  static Result<Mesh> make(std::vector<MeshAxis> axes, const RankGrid& grid);

  /// The grid of all ranks.
  const RankGrid& grid() const { return grid_; }
  std::span<const MeshAxis> axes() const { return axes_; }

  /// The grid of the ranks that differ in these axes alone.
  RankGrid grid_of(AxisSet axes) const;
  /// Returns the index of `rank` in that grid, in ascending order of ranks.
  std::int64_t index_in(AxisSet axes, std::int64_t rank) const;
  /// Returns the rank at `index` of the grid of `axes` that `rank` is in.
  std::int64_t rank_at(AxisSet axes, std::int64_t rank, std::int64_t index) const;

  /// Returns the number of ranks in a group, and of those on each host that it touches.
  std::int64_t size_of(CollectiveGroup group) const;
  std::int64_t size_on_host(CollectiveGroup group) const;
  /// Returns whether a group of more than one rank uses links between hosts.
  bool crosses_hosts(CollectiveGroup group) const { return size_of(group) > size_on_host(group); }
  /// Returns the number of groups of this kind with ranks on one host: those that cross hosts share
  /// its link.
  std::int64_t groups_on_host(CollectiveGroup group) const {
    return grid_.ranks_per_host / size_on_host(group);
  }
  /// Returns how many members that a group has on a host send to another host where each member
  /// sends to the one `distance` places behind it, round the end.
  std::int64_t shifted_off_host(CollectiveGroup group, std::int64_t distance) const;
  /// Returns the ranks of the group that `rank` is in, in ascending order.
  std::vector<std::int64_t> ranks_of(CollectiveGroup group, std::int64_t rank) const;
  /// Returns whether the two groups of every rank are the same ranks.
  bool are_equal(CollectiveGroup one, CollectiveGroup other) const;
  /// Returns the lowest rank of that group, which no other group of the kind has.
  std::int64_t first_rank(CollectiveGroup group, std::int64_t rank) const;

  /// Reads a group's name: "world", the names of axes joined by "+", or either followed by
  /// ":inside" or ":between" for a tier; "inside" and "between" are those of all axes. The error
  /// says which axes there are.
  Result<CollectiveGroup> parse_group(std::string_view text) const;
  /// The reverse. A set with all axes is "world".
  std::string name_of(CollectiveGroup group) const;

  bool operator==(const Mesh& other) const { return grid_ == other.grid_ && axes_ == other.axes_; }

 private:
  /// An axis, or its part inside or between hosts.
  struct Factor {
    std::size_t axis = 0;
    std::int64_t size = 1, stride = 1;
    bool is_inside = false;
  };

  /// Returns whether a member of the group may differ from another in this factor.
  static bool spans(CollectiveGroup group, const Factor& factor);

  std::span<const Factor> factors() const { return {factors_.data(), factor_count_}; }

  std::vector<MeshAxis> axes_;
  RankGrid grid_;
  // Outermost first. One axis at most is two of them.
  std::array<Factor, kMostAxes + 1> factors_ = {};
  std::size_t factor_count_ = 0;
};

}  // namespace hocket
