#include "core/trace/paired_collectives.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "core/trace/message_ends.h"

namespace hocket {
namespace {

using Ranks = std::vector<std::int64_t>;
using GroupKey = std::pair<std::string, Ranks>;

bool holds(const Ranks& ranks, std::int64_t rank) {
  return std::binary_search(ranks.begin(), ranks.end(), rank);
}

/// Known groups, and the groups of traces that do not say the ranks.
class GroupTable {
 public:
  explicit GroupTable(std::span<const RankTrace> traces) : traces_(traces) {
    MemberGroup all;
    all.traces.resize(traces.size());
    std::iota(all.traces.begin(), all.traces.end(), std::size_t{0});
    for (const RankTrace& trace : traces) all.ranks = std::max(all.ranks, trace.ranks);
    all.ranks = std::max(all.ranks, std::ssize(traces));
    job_.groups.push_back(std::move(all));
    for (const RankTrace& trace : traces) {
      for (const TraceGroup& group : trace.groups)
        if (!group.ranks.empty()) known_.insert({group.name, sorted(group.ranks)});
    }
  }

  JobGroups take() {
    for (std::size_t trace = 0; trace < traces_.size(); ++trace) {
      auto& numbers = job_.group_of.emplace_back();
      for (const TraceGroup& group : traces_[trace].groups)
        numbers.push_back(number_of(trace, group));
    }
    for (MemberGroup& group : job_.groups) {
      std::ranges::sort(group.traces);
      group.traces.erase(std::unique(group.traces.begin(), group.traces.end()), group.traces.end());
      group.ranks = std::max(group.ranks, std::ssize(group.traces));
    }
    return std::move(job_);
  }

 private:
  static Ranks sorted(Ranks ranks) {
    std::ranges::sort(ranks);
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
  }

  /// Returns the ranks of the only known group of that name that holds `rank`; none otherwise.
  Ranks known_ranks(const std::string& name, std::int64_t rank) const {
    const Ranks* found = nullptr;
    for (auto at = known_.lower_bound({name, {}}); at != known_.end() && at->first == name; ++at) {
      if (!holds(at->second, rank)) continue;
      if (found) return {};
      found = &at->second;
    }
    return found ? *found : Ranks();
  }

  std::size_t number_of(std::size_t trace, const TraceGroup& group) {
    Ranks ranks =
        group.ranks.empty() ? known_ranks(group.name, traces_[trace].rank) : sorted(group.ranks);
    const auto [at, is_new] = numbers_.try_emplace({group.name, ranks}, job_.groups.size());
    if (is_new) {
      MemberGroup made;
      made.name = group.name;
      made.ranks = std::ssize(ranks);
      for (std::size_t i = 0; i < traces_.size(); ++i)
        if (holds(ranks, traces_[i].rank)) made.traces.push_back(i);
      job_.groups.push_back(std::move(made));
    }
    if (ranks.empty()) job_.groups[at->second].traces.push_back(trace);
    return at->second;
  }

  std::span<const RankTrace> traces_;
  std::set<GroupKey> known_;
  std::map<GroupKey, std::size_t> numbers_;
  JobGroups job_;
};

/// A record that may be a part, and where it belongs.
struct Candidate {
  std::size_t group = 0, trace = 0;
  const TraceRecord* record = nullptr;

  auto key() const {
    return std::tuple(group, record->sequence, trace, record->begin_ns, record->end_ns,
                      record->bytes, record->name);
  }
};

/// Returns the kind that the other parts have beside one of `kind`.
CollectiveKind kind_beside(CollectiveKind kind) {
  if (kind == CollectiveKind::send) return CollectiveKind::receive;
  if (kind == CollectiveKind::receive) return CollectiveKind::send;
  return kind;
}

std::vector<Candidate> candidates_of(std::span<const RankTrace> traces, const JobGroups& groups) {
  std::vector<Candidate> candidates;
  for (std::size_t trace = 0; trace < traces.size(); ++trace) {
    for (const TraceRecord& record : traces[trace].records) {
      if (is_part(traces[trace], record))
        candidates.push_back({groups.of(trace, record), trace, &record});
    }
  }
  std::ranges::sort(candidates, {}, &Candidate::key);
  return candidates;
}

}  // namespace

JobGroups groups_of(std::span<const RankTrace> traces) {
  return GroupTable(traces).take();
}

bool is_part(const RankTrace& trace, const TraceRecord& record) {
  return record.kind == TraceKind::communication && record.collective &&
         record.sequence != kNoSequence && is_plausible(record) &&
         record.group < std::ssize(trace.groups) &&
         (!is_message(*record.collective) || message_ends(trace, record));
}

PairedCollectives::PairedCollectives(std::span<const RankTrace> traces)
    : groups_(groups_of(traces)) {
  for (const Candidate& candidate : candidates_of(traces, groups_)) {
    const std::vector<std::size_t>& members = groups_.groups[candidate.group].traces;
    const bool is_next = collectives_.empty() || collectives_.back().group != candidate.group ||
                         collectives_.back().sequence != candidate.record->sequence;
    if (is_next) {
      collectives_.push_back({candidate.group, parts_.size(), candidate.record->sequence});
      parts_.resize(parts_.size() + members.size());
    }
    const auto member = std::ranges::lower_bound(members, candidate.trace);
    // A group's list of ranks may lack the rank that names it.
    if (member == members.end() || *member != candidate.trace) continue;
    const TraceRecord*& part =
        parts_[collectives_.back().first + static_cast<std::size_t>(member - members.begin())];
    if (part == nullptr) part = candidate.record;
  }
}

PairedCollective PairedCollectives::operator[](std::size_t index) const {
  const Entry& entry = collectives_[index];
  return {entry.group, entry.sequence,
          std::span(parts_).subspan(entry.first, groups_.groups[entry.group].traces.size())};
}

bool PairedCollectives::is_complete(std::size_t index) const {
  const PairedCollective collective = (*this)[index];
  const MemberGroup& group = groups_.groups[collective.group];
  return std::ssize(group.traces) == group.ranks &&
         std::ranges::find(collective.parts, nullptr) == collective.parts.end();
}

bool PairedCollectives::is_alike(std::size_t index) const {
  const TraceRecord* first = nullptr;
  for (const TraceRecord* part : (*this)[index].parts) {
    if (!part) continue;
    if (!first) first = part;
    if (part->bytes != first->bytes) return false;
    if (part != first && part->collective != kind_beside(*first->collective)) return false;
  }
  return true;
}

bool PairedCollectives::is_of_message(std::size_t index) const {
  return std::ranges::any_of((*this)[index].parts, [](const TraceRecord* part) {
    return part && is_message(*part->collective);
  });
}

}  // namespace hocket
