#include "core/trace/group_names.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hocket {
namespace {

using Ranks = std::vector<std::int64_t>;
/// Kinds and bytes of the collectives of a group in one trace.
using Traits = std::set<std::pair<std::optional<CollectiveKind>, std::int64_t>>;

/// A group in one trace.
struct NamedGroup {
  std::size_t trace = 0, index = 0;  ///< index in RankTrace::groups
  std::string name;
  Traits traits;
};

std::vector<Traits> traits_of(const RankTrace& trace) {
  std::vector<Traits> traits(trace.groups.size());
  for (const TraceRecord& record : trace.records) {
    const bool is_in_group = record.kind == TraceKind::communication && record.group >= 0 &&
                             record.group < std::ssize(trace.groups);
    if (is_in_group)
      traits[static_cast<std::size_t>(record.group)].insert({record.collective, record.bytes});
  }
  return traits;
}

bool has_messages(const Traits& traits) {
  return std::ranges::any_of(
      traits, [](const auto& each) { return each.first && is_message(*each.first); });
}

bool share_a_kind(const Traits& a, const Traits& b) {
  return std::ranges::any_of(a, [&](const auto& one) {
    return std::ranges::any_of(b, [&](const auto& other) { return one.first == other.first; });
  });
}

/// The groups with the same ranks, in all traces.
class SameRanks {
 public:
  void add(NamedGroup group) { by_trace_[group.trace].push_back(std::move(group)); }

  /// Calls `rename` for each group that gets another name, with the name.
  template <class Rename>
  void settle(Rename&& rename) {
    leave_common_names();
    if (by_trace_.size() < 2) return;
    const std::vector<NamedGroup>& first = by_trace_.begin()->second;
    for (auto at = std::next(by_trace_.begin()); at != by_trace_.end(); ++at) {
      const std::vector<NamedGroup>& other = at->second;
      if (first.size() == 1 && other.size() == 1) {
        if (share_a_kind(first[0].traits, other[0].traits)) rename(other[0], first[0].name);
        continue;
      }
      for (const NamedGroup& group : other) {
        const NamedGroup* same = only_alike(first, group.traits);
        if (same && only_alike(other, group.traits)) rename(group, same->name);
      }
    }
  }

 private:
  /// Removes the groups whose names all traces have.
  void leave_common_names() {
    std::map<std::string, std::size_t> uses;
    for (const auto& [trace, groups] : by_trace_)
      for (const NamedGroup& group : groups) ++uses[group.name];
    const std::size_t traces = by_trace_.size();
    for (auto at = by_trace_.begin(); at != by_trace_.end();) {
      std::erase_if(at->second, [&](const NamedGroup& each) { return uses[each.name] == traces; });
      at = at->second.empty() ? by_trace_.erase(at) : std::next(at);
    }
  }

  /// Returns the only group with these traits.
  static const NamedGroup* only_alike(const std::vector<NamedGroup>& groups, const Traits& traits) {
    const NamedGroup* found = nullptr;
    for (const NamedGroup& group : groups) {
      if (group.traits != traits) continue;
      if (found) return nullptr;
      found = &group;
    }
    return found;
  }

  std::map<std::size_t, std::vector<NamedGroup>> by_trace_;
};

}  // namespace

void unify_group_names(std::span<RankTrace* const> traces) {
  std::map<Ranks, SameRanks> by_ranks;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    std::vector<Traits> traits = traits_of(*traces[i]);
    for (std::size_t k = 0; k < traits.size(); ++k) {
      const TraceGroup& group = traces[i]->groups[k];
      // The name of a pair of a sender and a receiver is the same on both.
      if (group.ranks.empty() || has_messages(traits[k])) continue;
      by_ranks[group.ranks].add({i, k, group.name, std::move(traits[k])});
    }
  }
  for (auto& [ranks, groups] : by_ranks) {
    groups.settle([&](const NamedGroup& group, const std::string& name) {
      auto& of_trace = traces[group.trace]->groups;
      // Two groups of a trace must not become one.
      const TraceGroup renamed{name, of_trace[group.index].ranks};
      if (std::ranges::find(of_trace, renamed) == of_trace.end()) of_trace[group.index] = renamed;
    });
  }
}

}  // namespace hocket
