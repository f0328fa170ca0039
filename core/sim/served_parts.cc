#include "core/sim/served_parts.h"

#include <cmath>

#include "core/base/check.h"

namespace hocket {

ServedParts::ServedParts(const StepServers& servers, std::vector<RankClass> groups, int channels)
    : servers_(servers),
      groups_(std::move(groups)),
      paths_(servers, groups_.size()),
      links_(paths_.bytes_per_second()) {
  Rank rank;
  for (std::int32_t channel = channels; channel-- > 0;) {
    rank.free_pushes.push_back(channel);
    rank.free_pulls.push_back(channels + channel);
  }
  ranks_.assign(groups_.size(), rank);
}

void ServedParts::add(std::uint32_t rank, bool is_pull, const PartDecision& decision) {
  (is_pull ? ranks_[rank].pulls : ranks_[rank].pushes).push_back(decision);
}

std::uint64_t ServedParts::take(std::uint32_t rank, bool is_pull, std::int64_t now_ns) {
  Rank& r = ranks_[rank];
  std::vector<std::int32_t>& channels = is_pull ? r.free_pulls : r.free_pushes;
  std::deque<PartDecision>& waiting = is_pull ? r.pulls : r.pushes;
  if (free_parts_.empty()) {
    free_parts_.push_back(parts_.size());
    parts_.emplace_back();
  }
  const std::uint64_t part = free_parts_.back();
  free_parts_.pop_back();
  parts_[part] = {waiting.front(), rank, is_pull, channels.back(), now_ns};
  waiting.pop_front();
  channels.pop_back();
  return part;
}

std::vector<ServedParts::Later> ServedParts::take_channels(std::uint32_t rank,
                                                           std::int64_t now_ns) {
  Rank& r = ranks_[rank];
  std::vector<Later> later;
  while (!r.pushes.empty() && !r.free_pushes.empty())
    later.push_back(entering(take(rank, false, now_ns), now_ns));
  while (!r.pulls.empty() && !r.free_pulls.empty())
    later.push_back(entering(take(rank, true, now_ns), now_ns));
  return later;
}

ServedParts::Later ServedParts::entering(std::uint64_t part, std::int64_t now_ns) const {
  return {now_ns + std::llround(servers_.alpha_ns), part};
}

std::optional<ServedPath> ServedParts::path_of(const Part& part) const {
  return paths_.find(part.rank, static_cast<std::size_t>(part.decision.server), part.is_pull);
}

void ServedParts::enter_links(std::uint64_t index, std::int64_t now_ns) {
  const Part& part = parts_[index];
  const double bytes = static_cast<double>(part.decision.bytes) + servers_.overhead_bytes;
  const auto path = path_of(part);
  if (!path) return links_.begin(index, 0, {}, now_ns);
  const SharedFlows::Use uses[] = {
      {path->rank_link, 1}, {path->server_link, static_cast<double>(groups_[part.rank].ranks)}};
  links_.begin(index, bytes, uses, now_ns);
}

std::optional<std::int64_t> ServedParts::next_leaves_ns() const {
  const auto end = links_.next_end();
  return end ? std::optional(end->time_ns) : std::nullopt;
}

ServedParts::Later ServedParts::leave_links(std::int64_t now_ns) {
  const std::uint64_t part = links_.next_end()->flow;
  links_.end_next(now_ns);
  const auto path = path_of(parts_[part]);
  return {now_ns + (path ? path->latency_ns : 0), part};
}

ServedParts::Ended ServedParts::end(std::uint64_t index) {
  const Part part = parts_[index];
  free_parts_.push_back(index);
  Rank& rank = ranks_[part.rank];
  (part.is_pull ? rank.free_pulls : rank.free_pushes).push_back(part.channel);
  const auto found = sums_.try_emplace(key_of(part.decision)).first;
  Sum& sum = found->second;
  if (!part.is_pull) {
    sum.decisions.resize(ranks_.size());
    sum.decisions[part.rank] = part.decision;
    return {part, ++sum.pushed == ranks_.size()};
  }
  HOCKET_CHECK(sum.pushed == ranks_.size(), "a part was pulled before all ranks pushed it");
  if (++sum.pulled == ranks_.size()) sums_.erase(found);
  return {part, false};
}

}  // namespace hocket
