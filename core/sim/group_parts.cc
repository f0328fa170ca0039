#include "core/sim/group_parts.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace hocket {
namespace {

/// Flows are measured in the time that they take on an idle link.
constexpr double kNsPerSecond = 1e9;
/// Longer than any simulation, and far from overflow.
constexpr double kMaxTransferNs = 0x1p60;
constexpr std::uint32_t kEnded = ~std::uint32_t{0};

}  // namespace

GroupParts::GroupParts(std::shared_ptr<const JobFold> fold, int channels, double split)
    : fold_(std::move(fold)),
      channels_(channels),
      split_(split),
      communications_(fold_->communications.size()),
      waiting_(fold_->classes.size()),
      links_(std::vector<double>(fold_->links, kNsPerSecond)),
      transfers_(fold_->classes.size()) {
  for (const auto& begun : fold_->begun) begun_.emplace_back(begun.size());
}

void GroupParts::start(std::uint32_t rank, std::uint32_t number, const PartDecision& decision,
                       const PartCost& cost) {
  const std::uint32_t which = fold_->begun[rank][number];
  Communication& communication = communications_[which];
  const std::uint64_t at = begun_[rank][number]++ - communication.first;
  HOCKET_CHECK(at <= communication.parts.size(), "a part that ended begins again");
  if (at == communication.parts.size()) {
    if (free_parts_.empty()) {
      free_parts_.push_back(static_cast<std::uint32_t>(parts_.size()));
      parts_.emplace_back();
    }
    const std::uint32_t index = free_parts_.back();
    free_parts_.pop_back();
    Part& part = parts_[index];
    part.communication = which;
    part.bytes = decision.bytes;
    part.cost = cost;
    communication.parts.push_back(index);
  }
  const std::uint32_t index = communication.parts[at];
  HOCKET_CHECK(parts_[index].bytes == decision.bytes, "two ranks have different parts");
  waiting_[rank].push_back({index, number, decision.task});
}

std::uint32_t GroupParts::take_channel(std::uint32_t rank, std::int64_t now_ns) {
  const Waiting next = waiting_[rank].front();
  waiting_[rank].pop_front();
  parts_[next.index].members.push_back({rank, next.number, next.task, now_ns, 0});
  return next.index;
}

bool GroupParts::is_met(std::uint32_t index) const {
  const Part& part = parts_[index];
  return part.members.size() == fold_->communications[part.communication].members.size();
}

void GroupParts::count_transfer(const Part& part, int change) {
  for (const Member& member : part.members)
    transfers_[member.rank][static_cast<std::size_t>(tier_of(part))] += change;
}

void GroupParts::set_shares() {
  if (split_ == 0) return;
  links_.for_each_share([this](std::uint64_t index) {
    const Part& part = parts_[index];
    int used = 1;
    for (const Member& member : part.members)
      used = std::max(used, transfers_[member.rank][static_cast<std::size_t>(tier_of(part))]);
    return used / (used + split_ * std::max(0, channels_ - used));
  });
}

void GroupParts::enter_links(std::uint32_t index, std::int64_t now_ns) {
  const Part& part = parts_[index];
  const double work_ns = part.cost.beta_ns_per_byte * static_cast<double>(part.bytes);
  links_.begin(index, std::min(work_ns, kMaxTransferNs),
               fold_->communications[part.communication].uses, now_ns);
  count_transfer(part, 1);
  set_shares();
}

std::optional<std::int64_t> GroupParts::next_leaves_ns() const {
  const auto end = links_.next_end();
  if (!end) return std::nullopt;
  return end->time_ns;
}

std::uint32_t GroupParts::leave_links(std::int64_t now_ns) {
  const auto index = static_cast<std::uint32_t>(links_.next_end()->flow);
  links_.end_next(now_ns);
  count_transfer(parts_[index], -1);
  set_shares();
  return index;
}

void GroupParts::end(std::uint32_t index) {
  Part& ended = parts_[index];
  Communication& communication = communications_[ended.communication];
  const auto found = std::ranges::find(communication.parts, index);
  // With several channels parts may end out of order; numbers follow from the first one's.
  *found = kEnded;
  for (; !communication.parts.empty() && communication.parts.front() == kEnded;
       ++communication.first)
    communication.parts.pop_front();
  ended.members.clear();
  free_parts_.push_back(index);
}

}  // namespace hocket
