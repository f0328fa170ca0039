#pragma once

// Who takes part in a collective, and which of its values each of them owns: what RankGrid means
// for a CollectiveWork (core/collective/collective.h). Pure, and equal on every rank of the group.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/step/rank_grid.h"

namespace hocket {

/// invalid_argument for a kind that no Collective carries out.
Result<void> check_kind(CollectiveKind kind);

/// The values from `begin` to `end` of a buffer.
struct ValueRange {
  std::size_t begin = 0, end = 0;

  constexpr std::size_t size() const { return end - begin; }
  bool operator==(const ValueRange&) const = default;
};

/// What is exchanged, as CollectiveWork has it.
struct BlockCut {
  CollectiveGroup group = CollectiveGroup::world;
  std::size_t values = 0;  ///< of the whole buffer
  std::size_t begin = 0, end = 0;
};

class CollectiveBlocks {
 public:
  /// `rank` is one of `grid`.
  CollectiveBlocks(const BlockCut& cut, const RankGrid& grid, std::int64_t rank);
  CollectiveBlocks(const CollectiveWork& work, const RankGrid& grid, std::int64_t rank)
      : CollectiveBlocks(BlockCut{work.group, work.values.size(), work.begin, work.end}, grid,
                         rank) {}

  /// How many ranks the group has.
  std::size_t members() const { return members_; }
  /// This rank's place among them.
  std::size_t own() const { return own_; }
  /// Members are in the order of their ranks.
  std::int64_t rank_of(std::size_t member) const {
    return first_rank_ + static_cast<std::int64_t>(member) * rank_step_;
  }
  /// What `member` owns: as many ranges for each, in ascending order, cut off where the buffer
  /// ends, so that some may be empty. One range, unless the group is `inside` and the work takes
  /// but a part of every block.
  std::span<const ValueRange> piece(std::size_t member) const {
    return std::span(ranges_).subspan(member * ranges_each_, ranges_each_);
  }
  std::size_t piece_size(std::size_t member) const;
  /// In all pieces.
  std::size_t size() const;

 private:
  std::size_t members_ = 1, own_ = 0, ranges_each_ = 1;
  std::int64_t first_rank_ = 0, rank_step_ = 1;
  std::vector<ValueRange> ranges_;
};

}  // namespace hocket
