#include "core/cuda/collectives/device_groups.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "core/base/check.h"
#include "core/collective/collective_blocks.h"
#include "core/cuda/collectives/device_pieces.h"

namespace hocket {

std::vector<AxisSet> all_axis_sets(const Mesh& mesh) {
  std::vector<AxisSet> sets{AxisSet::none()};
  for (std::size_t axis = 0; axis < mesh.axes().size(); ++axis) {
    const std::vector<AxisSet> without = sets;
    for (const AxisSet& set : without) sets.push_back(set.with(AxisSet::of(axis)));
  }
  sets.erase(sets.begin());
  return sets;
}

DeviceGroups::DeviceGroups(DeviceCollective& world, const Mesh& mesh, std::vector<AxisSet> axes)
    : world_(world), mesh_(mesh), axes_(std::move(axes)) {
  HOCKET_CHECK(world.world_size() == mesh.grid().ranks, "the mesh is of the ranks that exchange");
}

Result<void> DeviceGroups::open(int channels) {
  if (auto ok = world_.open(channels); !ok) return ok;
  if (!is_split_) {
    if (auto ok = split(); !ok) return ok;
  }
  for (const Group& group : groups_) {
    if (auto ok = group.ranks->open(channels); !ok)
      return failure(ok.error().in("group " + mesh_.name_of(group.group)));
  }
  return {};
}

Result<void> DeviceGroups::split() {
  std::vector<CollectiveGroup> wanted{CollectiveGroup::inside, CollectiveGroup::between};
  for (const AxisSet axes : axes_)
    for (const GroupTier tier : kGroupTiers) wanted.push_back({axes, tier});
  for (const CollectiveGroup group : wanted) {
    const std::int64_t size = mesh_.size_of(group);
    if (size == 1 || size == mesh_.grid().ranks || of(group)) continue;
    auto ranks = world_.split(static_cast<int>(mesh_.first_rank(group, rank())));
    if (!ranks) return failure(ranks.error().in("group " + mesh_.name_of(group)));
    std::lock_guard lock(mutex_);
    groups_.push_back({group, std::move(*ranks)});
    if (!is_aborted_) continue;
    groups_.back().ranks->abort();
    return failure(ErrorCode::unavailable, "the collectives of this rank were aborted");
  }
  is_split_ = true;
  return {};
}

DeviceCollective* DeviceGroups::of(CollectiveGroup group) {
  if (mesh_.size_of(group) == mesh_.grid().ranks) return &world_;
  const auto found = std::ranges::find_if(
      groups_, [&](const Group& made) { return mesh_.are_equal(made.group, group); });
  return found == groups_.end() ? nullptr : found->ranks.get();
}

Result<DeviceCollective*> DeviceGroups::made(CollectiveGroup group) {
  if (DeviceCollective* const ranks = of(group)) return ranks;
  return invalid("no communicator was made for the group " + mesh_.name_of(group) +
                 ": name its axes when the groups are made");
}

Result<void> DeviceGroups::exchange(const PartWork& part, int channel, DeviceStream stream) {
  if (has_no_blocks(part.collective.kind)) return exchange_without_blocks(part, channel, stream);
  if (auto ok = check_kind(part.collective.kind); !ok) return ok;
  const CollectiveGroup group = part.collective.group;
  if (!of(group) && mesh_.size_of(group) == 1) return {};
  const auto ranks = made(group);
  HOCKET_TRY(ranks);
  find_pieces(part, mesh_, rank(), pieces_);
  return (*ranks)->exchange(part.collective.kind, pieces_, channel, stream);
}

Result<void> DeviceGroups::exchange_messages(CollectiveGroup group,
                                             std::span<const DeviceMessage> messages, int channel,
                                             DeviceStream stream) {
  const std::vector<std::int64_t> members = mesh_.ranks_of(group, rank());
  messages_.assign(messages.begin(), messages.end());
  for (DeviceMessage& message : messages_) {
    if (message.peer < 0 || std::cmp_greater_equal(message.peer, members.size()))
      return invalid("there is no member " + std::to_string(message.peer) + " of " +
                     std::to_string(members.size()) + " in the group " + mesh_.name_of(group));
    message.peer = static_cast<int>(members[static_cast<std::size_t>(message.peer)]);
  }
  return world_.exchange_messages(messages_, channel, stream);
}

std::uint64_t DeviceGroups::channel_number(const PartWork& part) const {
  const CollectiveWork& work = part.collective;
  if (!is_message(work.kind)) return part.number;
  const auto members = mesh_.ranks_of(work.group, rank());
  if (work.peer >= members.size() || members[work.peer] == rank()) return 0;  // it will be refused
  const auto [low, high] = std::minmax<std::int64_t>({rank(), members[work.peer]});
  const bool goes_up = (work.kind == CollectiveKind::send) == (low == rank());
  // Along an axis, neighbours differ by the axis's stride.
  return static_cast<std::uint64_t>(2 * (low / (high - low)) + (goes_up ? 0 : 1));
}

Result<void> DeviceGroups::exchange_without_blocks(const PartWork& part, int channel,
                                                   DeviceStream stream) {
  const CollectiveWork& work = part.collective;
  const GroupMembers group = group_members(mesh_, work.group, rank());
  const std::vector<std::int64_t>& members = group.ranks;
  if (auto ok = check_message(work, members.size(), group.own); !ok) return ok;
  if (work.kind == CollectiveKind::broadcast) {
    if (members.size() == 1) return {};
    const auto ranks = made(work.group);
    HOCKET_TRY(ranks);
    const DevicePiece piece{work.values, static_cast<int>(work.peer)};
    return (*ranks)->exchange(CollectiveKind::all_gather, {&piece, 1}, channel, stream);
  }
  messages_.clear();
  const auto add = [&](ValueSpan values, std::size_t peer, bool sends) {
    if (!values.empty()) messages_.push_back({values, static_cast<int>(members[peer]), sends});
  };
  if (work.kind == CollectiveKind::all_to_all) {
    const auto sent = exchanged_ranges(work, work.sent_counts);
    const auto received = exchanged_ranges(work, work.received_counts);
    for (std::size_t member = 0; member < members.size(); ++member) {
      add(work.values.subspan(sent[member].begin, sent[member].size()), member, true);
      add(work.received.subspan(received[member].begin, received[member].size()), member, false);
    }
  } else if (work.kind == CollectiveKind::shift) {
    const ShiftEnds ends = shift_ends(work.peer, members.size(), group.own);
    add(work.values, ends.to, true);
    add(work.received, ends.from, false);
  } else {
    add(work.values, work.peer, work.kind == CollectiveKind::send);
  }
  if (messages_.empty()) return {};
  return world_.exchange_messages(messages_, channel, stream);
}

Result<void> DeviceGroups::health() {
  if (auto ok = world_.health(); !ok) return ok;
  if (!is_split_) return {};
  for (const Group& group : groups_)
    if (auto ok = group.ranks->health(); !ok) return ok;
  return {};
}

// Aborts all groups concurrently: one abort may end only when another group's collectives have
// ended.
void DeviceGroups::abort() {
  const std::jthread groups([this] {
    std::lock_guard lock(mutex_);
    is_aborted_ = true;
    std::vector<std::jthread> aborts;
    for (const Group& group : groups_)
      aborts.emplace_back([&ranks = *group.ranks] { ranks.abort(); });
  });
  world_.abort();
}

}  // namespace hocket
