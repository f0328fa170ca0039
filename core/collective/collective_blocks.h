#pragma once

// The members of a collective's group and the values that each member owns: Mesh applied to a
// CollectiveWork (core/collective/collective.h). Pure; the result is equal on every rank of the
// group.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/step/mesh.h"

namespace hocket {

/// Values [begin, end) of a buffer.
struct ValueRange {
  std::size_t begin = 0, end = 0;

  constexpr std::size_t size() const { return end - begin; }
  bool operator==(const ValueRange&) const = default;
};

/// Returns whether the work is a broadcast, an all-to-all, a shift, a send or a receive, which have
/// no blocks.
constexpr bool has_no_blocks(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::all_to_all ||
         kind == CollectiveKind::shift || kind == CollectiveKind::send ||
         kind == CollectiveKind::receive;
}

/// Returns invalid_argument for a kind other than all_reduce, reduce_scatter and all_gather.
Result<void> check_kind(CollectiveKind kind);

/// The ranks of a group in ascending order, and the place of one of them.
struct GroupMembers {
  std::vector<std::int64_t> ranks;
  std::size_t own = 0;
};

/// Returns the group of `rank`, whose place is `own`.
GroupMembers group_members(const Mesh& mesh, CollectiveGroup group, std::int64_t rank);

/// Returns invalid_argument for a message whose peer is none of the group's `members`, or is `own`,
/// this rank, for a send or a receive, for an all-to-all whose counts are not one for each member,
/// do not add up to the values, or differ for what this rank keeps, and for a shift that receives
/// other values than it sends.
Result<void> check_message(const CollectiveWork& work, std::size_t members, std::size_t own);

/// The members with whom a member exchanges values in a shift; both are the member itself if the
/// distance is 0.
struct ShiftEnds {
  std::size_t to = 0, from = 0;
};
constexpr ShiftEnds shift_ends(std::size_t distance, std::size_t members, std::size_t own) {
  return {(own + distance) % members, (own + members - distance) % members};
}

/// Returns where the values lie that `work`, an all-to-all, exchanges with each member, in a buffer
/// with `counts` values for each member in order.
std::vector<ValueRange> exchanged_ranges(const CollectiveWork& work,
                                         std::span<const std::size_t> counts);

/// Extent of a collective, as in CollectiveWork.
struct BlockCut {
  CollectiveGroup group = CollectiveGroup::world;
  /// Values in the whole buffer.
  std::size_t values = 0;
  std::size_t begin = 0, end = 0;
  ElementType type = ElementType::float32;
};

class CollectiveBlocks {
 public:
  /// Requires `rank` to be in `mesh`, which must outlive the object.
  CollectiveBlocks(const BlockCut& cut, const Mesh& mesh, std::int64_t rank);
  CollectiveBlocks(const CollectiveWork& work, const Mesh& mesh, std::int64_t rank)
      : CollectiveBlocks(
            BlockCut{work.group, work.values.size(), work.begin, work.end, work.values.type()},
            mesh, rank) {}

  /// Returns the number of ranks in the group.
  std::size_t members() const { return members_; }
  /// Returns this rank's index among the members.
  std::size_t own() const { return own_; }
  /// Returns the rank of `member`; members are in ascending order of rank.
  std::int64_t rank_of(std::size_t member) const {
    return mesh_.rank_at(axes_, rank_, index_of(member));
  }
  /// Returns the ranges that `member` owns, in ascending order and equally many for each member.
  /// Ranges are clipped at the end of the buffer, so some may be empty. There is one range, except
  /// when the tier is `inside` and the work covers only a part of every block.
  std::span<const ValueRange> piece(std::size_t member) const {
    return std::span(ranges_).subspan(member * ranges_each_, ranges_each_);
  }
  std::size_t piece_size(std::size_t member) const;
  /// Returns the number of values in all pieces.
  std::size_t size() const;

 private:
  /// Returns the member's index in the grid of the group's axes.
  std::int64_t index_of(std::size_t member) const {
    return first_index_ + static_cast<std::int64_t>(member) * index_step_;
  }

  const Mesh& mesh_;
  AxisSet axes_;
  std::int64_t rank_ = 0;
  std::size_t members_ = 1, own_ = 0, ranges_each_ = 1;
  std::int64_t first_index_ = 0, index_step_ = 1;
  std::vector<ValueRange> ranges_;
};

}  // namespace hocket
