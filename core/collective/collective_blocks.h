#pragma once

// The members of a collective's group and the values that each member owns: RankGrid applied to a
// CollectiveWork (core/collective/collective.h). Pure; the result is equal on every rank of the
// group.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/step/rank_grid.h"

namespace hocket {

/// Returns invalid_argument for a kind that no Collective implements.
Result<void> check_kind(CollectiveKind kind);

/// Values [begin, end) of a buffer.
struct ValueRange {
  std::size_t begin = 0, end = 0;

  constexpr std::size_t size() const { return end - begin; }
  bool operator==(const ValueRange&) const = default;
};

/// Extent of a collective, as in CollectiveWork.
struct BlockCut {
  CollectiveGroup group = CollectiveGroup::world;
  /// Values in the whole buffer.
  std::size_t values = 0;
  std::size_t begin = 0, end = 0;
};

class CollectiveBlocks {
 public:
  /// Requires `rank` to be in `grid`.
  CollectiveBlocks(const BlockCut& cut, const RankGrid& grid, std::int64_t rank);
  CollectiveBlocks(const CollectiveWork& work, const RankGrid& grid, std::int64_t rank)
      : CollectiveBlocks(BlockCut{work.group, work.values.size(), work.begin, work.end}, grid,
                         rank) {}

  /// Returns the number of ranks in the group.
  std::size_t members() const { return members_; }
  /// Returns this rank's index among the members.
  std::size_t own() const { return own_; }
  /// Returns the rank of `member`; members are in ascending order of rank.
  std::int64_t rank_of(std::size_t member) const {
    return first_rank_ + static_cast<std::int64_t>(member) * rank_step_;
  }
  /// Returns the ranges that `member` owns, in ascending order and equally many for each member.
  /// Ranges are clipped at the end of the buffer, so some may be empty. There is one range, except
  /// when the group is `inside` and the work covers only a part of every block.
  std::span<const ValueRange> piece(std::size_t member) const {
    return std::span(ranges_).subspan(member * ranges_each_, ranges_each_);
  }
  std::size_t piece_size(std::size_t member) const;
  /// Returns the number of values in all pieces.
  std::size_t size() const;

 private:
  std::size_t members_ = 1, own_ = 0, ranges_each_ = 1;
  std::int64_t first_rank_ = 0, rank_step_ = 1;
  std::vector<ValueRange> ranges_;
};

}  // namespace hocket
