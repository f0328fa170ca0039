#include "core/partitioning/collective_stages.h"

namespace hocket::partitioning {

std::vector<Stage> stages_of(CollectiveKind kind, CollectiveGroup group, const Rule& rule,
                             const RankGrid& grid) {
  using enum CollectiveKind;
  const CollectiveGroup inside{group.axes, GroupTier::inside},
      between{group.axes, GroupTier::between};
  const bool halves =
      kind == all_reduce && rule.primitive == CollectivePrimitive::reduce_scatter_all_gather;
  const bool scatters = kind == reduce_scatter || halves, gathers = kind == all_gather || halves;
  const bool grouped = rule.grouped && group.tier == GroupTier::whole && grid.hosts() > 1 &&
                       grid.ranks_per_host > 1 && (scatters || gathers || kind == all_reduce);
  std::vector<Stage> stages;
  if (!grouped) {
    if (scatters) stages.push_back({reduce_scatter, group});
    if (!scatters && !gathers) stages.push_back({kind, group});
    if (gathers) stages.push_back({all_gather, group});
    return stages;
  }
  const bool reduces_whole = !scatters && !gathers;
  if (scatters || reduces_whole) stages.push_back({reduce_scatter, inside});
  if (scatters) stages.push_back({reduce_scatter, between, true});
  if (reduces_whole) stages.push_back({all_reduce, between, true});
  if (gathers) stages.push_back({all_gather, between, true});
  if (gathers || reduces_whole) stages.push_back({all_gather, inside});
  return stages;
}

}  // namespace hocket::partitioning
