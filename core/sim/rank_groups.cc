#include "core/sim/rank_groups.h"

#include <algorithm>
#include <map>

namespace hocket {
namespace {

double scale_of(const StepDescription& step, std::int64_t rank) {
  return step.rank_compute_scale.empty() ? 1
                                         : step.rank_compute_scale[static_cast<std::size_t>(rank)];
}

bool is_each_alone(const StepDescription& step) {
  return step.jitter.kind != JitterKind::none || (step.servers && step.servers->colocated);
}

}  // namespace

std::vector<RankClass> rank_groups(const StepDescription& step) {
  if (is_each_alone(step)) {
    std::vector<RankClass> groups;
    for (std::int64_t rank = 0; rank < step.ranks; ++rank)
      groups.push_back({rank, 1, scale_of(step, rank)});
    return groups;
  }
  if (step.rank_compute_scale.empty()) return {{0, step.ranks, 1}};
  std::vector<RankClass> groups;
  std::map<double, std::size_t> group_of_scale;
  for (std::int64_t rank = 0; rank < step.ranks; ++rank) {
    const double scale = scale_of(step, rank);
    const auto [found, is_new] = group_of_scale.emplace(scale, groups.size());
    if (is_new) groups.push_back({rank, 0, scale});
    ++groups[found->second].ranks;
  }
  return groups;
}

std::size_t group_of(const StepDescription& step, const std::vector<RankClass>& groups,
                     std::int64_t rank) {
  if (is_each_alone(step)) return static_cast<std::size_t>(rank);
  const double scale = scale_of(step, rank);
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](const RankClass& g) { return g.compute_scale == scale; });
  return static_cast<std::size_t>(found - groups.begin());
}

}  // namespace hocket
