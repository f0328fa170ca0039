#pragma once

// The primitive and group axes: the stages that replace a collective (Centauri, ASPLOS 2024,
// section 4). Pure.

#include <vector>

#include "core/partitioning/region_rules.h"
#include "core/step/collective_group.h"
#include "core/step/collective_kind.h"
#include "core/step/rank_grid.h"

namespace hocket::partitioning {

/// One collective of a chain; each works on the same data as the one before it.
struct Stage {
  CollectiveKind kind = CollectiveKind::all_reduce;
  CollectiveGroup group = CollectiveGroup::world;
  /// True when it handles only the part that one place of every host holds after a reduce-scatter
  /// inside the hosts.
  bool of_place = false;

  bool operator==(const Stage&) const = default;
};

/// Returns the chain that replaces a collective of `kind` and `group`. If the rule has the
/// primitive reduce_scatter_all_gather, an all-reduce becomes a reduce-scatter and an all-gather.
/// If the rule is grouped, an all-reduce over all ranks of several hosts becomes a reduce-scatter
/// inside, an all-reduce between and an all-gather inside; with both, a reduce-scatter inside and
/// between and an all-gather between and inside. A reduce-scatter or all-gather over all ranks
/// becomes its own half of that chain.
std::vector<Stage> stages_of(CollectiveKind kind, CollectiveGroup group, const Rule& rule,
                             const RankGrid& grid);

}  // namespace hocket::partitioning
