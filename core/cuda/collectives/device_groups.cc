#include "core/cuda/collectives/device_groups.h"

#include <thread>
#include <utility>

#include "core/base/check.h"
#include "core/collective/collective_blocks.h"
#include "core/cuda/collectives/device_pieces.h"

namespace hocket {

DeviceGroups::DeviceGroups(DeviceCollective& world, const RankGrid& grid)
    : world_(world), grid_(grid) {
  HOCKET_CHECK(world.world_size() == grid.ranks, "the grid is of the ranks that exchange");
}

Result<void> DeviceGroups::open(int channels) {
  if (auto ok = world_.open(channels); !ok) return ok;
  if (grid_.hosts() == 1 || grid_.ranks_per_host == 1) return {};
  if (!inside_) {
    if (auto ok = split(); !ok) return ok;
  }
  if (auto ok = inside_->open(channels); !ok) return failure(ok.error().in("inside the host"));
  if (auto ok = between_->open(channels); !ok) return failure(ok.error().in("between the hosts"));
  return {};
}

Result<void> DeviceGroups::split() {
  auto inside = world_.split(static_cast<int>(grid_.host_of(rank())));
  if (!inside) return failure(inside.error().in("inside the host"));
  auto between = world_.split(static_cast<int>(grid_.place_of(rank())));
  if (!between) return failure(between.error().in("between the hosts"));
  std::lock_guard lock(mutex_);
  inside_ = std::move(*inside);
  between_ = std::move(*between);
  if (!is_aborted_) return {};
  inside_->abort();
  between_->abort();
  return failure(ErrorCode::unavailable, "the collectives of this rank were aborted");
}

DeviceCollective* DeviceGroups::of(CollectiveGroup group) {
  if (group == CollectiveGroup::world) return &world_;
  const bool is_inside = group == CollectiveGroup::inside;
  const std::int64_t members = is_inside ? grid_.ranks_per_host : grid_.hosts();
  if (members == grid_.ranks) return &world_;
  if (members == 1) return nullptr;
  HOCKET_CHECK(inside_ && between_, "open() the groups first");
  return is_inside ? inside_.get() : between_.get();
}

Result<void> DeviceGroups::exchange(const PartWork& part, int channel, DeviceStream stream) {
  if (auto ok = check_kind(part.collective.kind); !ok) return ok;
  DeviceCollective* const group = of(part.collective.group);
  if (!group) return {};
  find_pieces(part, grid_, rank(), pieces_);
  return group->exchange(part.collective.kind, pieces_, channel, stream);
}

Result<void> DeviceGroups::health() {
  if (auto ok = world_.health(); !ok) return ok;
  if (!inside_) return {};
  if (auto ok = inside_->health(); !ok) return ok;
  return between_->health();
}

// Aborts all groups concurrently: one abort may end only when another group's collectives have
// ended.
void DeviceGroups::abort() {
  const std::jthread groups([this] {
    std::lock_guard lock(mutex_);
    is_aborted_ = true;
    if (!inside_) return;
    const std::jthread inside([this] { inside_->abort(); });
    between_->abort();
  });
  world_.abort();
}

}  // namespace hocket
