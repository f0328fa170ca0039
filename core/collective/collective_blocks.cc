#include "core/collective/collective_blocks.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"

namespace hocket {
namespace {

/// Blocks of a buffer, or the part of each block that is exchanged.
struct CutBlocks {
  std::size_t values, block, begin, end;

  CutBlocks(const BlockCut& cut, std::int64_t ranks)
      : values(cut.values),
        block(static_cast<std::size_t>(
                  block_bytes(static_cast<std::int64_t>(cut.values * sizeof(float)), ranks)) /
              sizeof(float)),
        begin(std::min(cut.begin, block)),
        end(cut.begin == 0 && cut.end == 0 ? block : std::clamp(cut.end, begin, block)) {}

  bool is_whole() const { return begin == 0 && end == block; }
  /// Returns the range from the cut's begin in block `first` to its end in block `last`.
  ValueRange from(std::int64_t first, std::int64_t last) const {
    return {std::min(static_cast<std::size_t>(first) * block + begin, values),
            std::min(static_cast<std::size_t>(last) * block + end, values)};
  }
};

}  // namespace

Result<void> check_kind(CollectiveKind kind) {
  if (kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter ||
      kind == CollectiveKind::all_gather)
    return {};
  return invalid("a collective of kind " + std::string(to_string(kind)) +
                 " cannot be carried out: expected all_reduce, reduce_scatter or all_gather");
}

CollectiveBlocks::CollectiveBlocks(const BlockCut& of, const RankGrid& grid, std::int64_t rank) {
  HOCKET_CHECK(rank >= 0 && rank < grid.ranks && grid.ranks % grid.ranks_per_host == 0,
               "a rank of a grid");
  const CutBlocks cut(of, grid.ranks);
  const std::int64_t host = grid.host_of(rank), place = grid.place_of(rank);
  std::int64_t own = rank, members = grid.ranks;
  if (of.group == CollectiveGroup::inside) {
    first_rank_ = host * grid.ranks_per_host;
    own = place;
    members = grid.ranks_per_host;
    if (!cut.is_whole()) ranges_each_ = static_cast<std::size_t>(grid.hosts());
  } else if (of.group == CollectiveGroup::between) {
    first_rank_ = place;
    rank_step_ = grid.ranks_per_host;
    own = host;
    members = grid.hosts();
  }
  own_ = static_cast<std::size_t>(own);
  members_ = static_cast<std::size_t>(members);
  ranges_.reserve(members_ * ranges_each_);
  for (std::size_t member = 0; member < members_; ++member) {
    const std::int64_t owner = rank_of(member);
    if (of.group != CollectiveGroup::inside) {
      ranges_.push_back(cut.from(grid.block_of(owner), grid.block_of(owner)));
      continue;
    }
    // The blocks of one place are adjacent, so whole blocks form one range.
    const std::int64_t first = grid.place_of(owner) * grid.hosts(), last = first + grid.hosts() - 1;
    if (ranges_each_ == 1) {
      ranges_.push_back(cut.from(first, last));
    } else {
      for (std::int64_t block = first; block <= last; ++block)
        ranges_.push_back(cut.from(block, block));
    }
  }
}

std::size_t CollectiveBlocks::piece_size(std::size_t member) const {
  std::size_t size = 0;
  for (const ValueRange& range : piece(member)) size += range.size();
  return size;
}

std::size_t CollectiveBlocks::size() const {
  std::size_t size = 0;
  for (const ValueRange& range : ranges_) size += range.size();
  return size;
}

}  // namespace hocket
