#include "profiler/calibration/link_shares.h"

#include <algorithm>
#include <cstddef>
#include <map>

namespace hocket {
namespace {

/// Returns the way that a part goes; parts on different ways do not slow one another.
CollectiveKind way_of(const TraceRecord& record) {
  const CollectiveKind kind = record.collective.value_or(CollectiveKind::all_reduce);
  return is_served(kind) ? kind : CollectiveKind::all_reduce;
}

/// A part's share of the link, as a function of time: at any time all parts have the same.
class LinkUse {
 public:
  /// As many as `apart` parts do not slow one another.
  LinkUse(const RankTrace& trace, CollectiveKind way, std::int64_t apart) {
    std::map<std::int64_t, std::int64_t> changes;
    for (const TraceRecord& record : trace.records) {
      if (record.kind != TraceKind::communication || way_of(record) != way) continue;
      ++changes[record.begin_ns];
      --changes[record.end_ns];
    }
    // Integral of the share up to each change.
    double sum = 0;
    std::int64_t parts = 0;
    for (const auto& [at_ns, change] : changes) {
      if (!steps_.empty()) sum = sum_at(at_ns);
      parts += change;
      const double share = static_cast<double>(apart) / static_cast<double>(std::max(parts, apart));
      steps_.push_back({at_ns, sum, share});
    }
  }

  /// Returns the mean in [begin, end), a range within a part.
  double mean_share(std::int64_t begin_ns, std::int64_t end_ns) const {
    if (begin_ns == end_ns) return 1;
    return (sum_at(end_ns) - sum_at(begin_ns)) / static_cast<double>(end_ns - begin_ns);
  }

 private:
  struct Step {
    std::int64_t at_ns = 0;
    double sum = 0, share = 1;
  };
  double sum_at(std::int64_t at_ns) const {
    const auto after = std::ranges::upper_bound(steps_, at_ns, {}, &Step::at_ns);
    if (after == steps_.begin()) return 0;
    const Step& step = *std::prev(after);
    return step.sum + static_cast<double>(at_ns - step.at_ns) * step.share;
  }

  std::vector<Step> steps_;
};

}  // namespace

std::vector<double> shares_of_links(const RankTrace& trace, std::int64_t servers) {
  const std::int64_t apart =
      std::clamp(trace.ranks, std::int64_t{1}, std::max<std::int64_t>(servers, 1));
  std::map<CollectiveKind, LinkUse> links;
  links.emplace(CollectiveKind::all_reduce, LinkUse(trace, CollectiveKind::all_reduce, 1));
  for (const CollectiveKind way : {CollectiveKind::push, CollectiveKind::pull})
    links.emplace(way, LinkUse(trace, way, apart));
  std::vector<double> shares;
  shares.reserve(trace.records.size());
  for (const TraceRecord& record : trace.records) {
    shares.push_back(record.kind == TraceKind::communication
                         ? links.at(way_of(record)).mean_share(record.begin_ns, record.end_ns)
                         : 1);
  }
  return shares;
}

}  // namespace hocket
