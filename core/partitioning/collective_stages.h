#pragma once

// The primitive and the group axis: the collectives that one is made of (Centauri, ASPLOS 2024,
// section 4). Pure.

#include <vector>

#include "core/partitioning/region_rules.h"
#include "core/step/collective_kind.h"
#include "core/step/rank_grid.h"

namespace hocket::partitioning {

/// One collective of a chain, each of which works on the same data as the one before.
struct Stage {
  CollectiveKind kind = CollectiveKind::all_reduce;
  CollectiveGroup group = CollectiveGroup::world;
  /// It handles only what a place of every host holds after a reduce-scatter inside.
  bool of_place = false;

  bool operator==(const Stage&) const = default;
};

/// The chain that a collective of `kind` and `group` becomes. An all-reduce becomes a
/// reduce-scatter and an all-gather where the rule says so; over all ranks of several hosts, where
/// it says so, a reduce-scatter inside, an all-reduce between and an all-gather inside; or, where
/// it says both, a reduce-scatter inside and between and an all-gather between and inside. A
/// reduce-scatter or all-gather over all ranks becomes the half of that which is its own.
std::vector<Stage> stages_of(CollectiveKind kind, CollectiveGroup group, const Rule& rule,
                             const RankGrid& grid);

}  // namespace hocket::partitioning
