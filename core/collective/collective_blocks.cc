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
        block(block_values(cut, ranks)),
        begin(std::min(cut.begin, block)),
        end(cut.begin == 0 && cut.end == 0 ? block : std::clamp(cut.end, begin, block)) {}

  static std::size_t block_values(const BlockCut& cut, std::int64_t ranks) {
    const std::size_t size = element_bytes(cut.type);
    return static_cast<std::size_t>(
               block_bytes(static_cast<std::int64_t>(cut.values * size), ranks)) /
           size;
  }
  bool is_whole() const { return begin == 0 && end == block; }
  /// Returns the range from the cut's begin in block `first` to its end in block `last`.
  ValueRange from(std::int64_t first, std::int64_t last) const {
    return {std::min(static_cast<std::size_t>(first) * block + begin, values),
            std::min(static_cast<std::size_t>(last) * block + end, values)};
  }
};

Result<void> check_types(const CollectiveWork& work, const std::string& what) {
  if (work.values.type() == work.received.type()) return {};
  return invalid(what + ": it sends values of " + std::string(to_string(work.values.type())) +
                 " and receives values of " + std::string(to_string(work.received.type())));
}

Result<void> check_shift(const CollectiveWork& work, std::size_t members) {
  if (work.peer >= members) {
    return invalid("a shift: expected a distance from 0 to " + std::to_string(members - 1) +
                   " in a group of " + std::to_string(members) + ", found " +
                   std::to_string(work.peer));
  }
  HOCKET_TRY(check_types(work, "a shift"));
  if (work.values.size() == work.received.size()) return {};
  return invalid("a shift: it sends " + std::to_string(work.values.size()) +
                 " values and receives " + std::to_string(work.received.size()));
}

}  // namespace

Result<void> check_kind(CollectiveKind kind) {
  if (kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter ||
      kind == CollectiveKind::all_gather)
    return {};
  return invalid("a collective of kind " + std::string(to_string(kind)) +
                 " cannot be carried out: expected all_reduce, reduce_scatter or all_gather");
}

GroupMembers group_members(const Mesh& mesh, CollectiveGroup group, std::int64_t rank) {
  GroupMembers members{mesh.ranks_of(group, rank)};
  members.own =
      static_cast<std::size_t>(std::ranges::find(members.ranks, rank) - members.ranks.begin());
  return members;
}

Result<void> check_message(const CollectiveWork& work, std::size_t members, std::size_t own) {
  const std::string what = "a " + std::string(in_words(work.kind));
  if (work.kind == CollectiveKind::shift) return check_shift(work, members);
  if (work.kind != CollectiveKind::all_to_all) {
    const bool is_pair = work.kind != CollectiveKind::broadcast;
    if (work.peer < members && !(is_pair && work.peer == own)) return {};
    return invalid(what + ": expected another of the " + std::to_string(members) +
                   " members of the group, counted from 0, found " + std::to_string(work.peer));
  }
  const auto check = [&](std::span<const std::size_t> counts, std::size_t values,
                         const char* way) -> Result<void> {
    if (counts.size() != members) {
      return invalid("an all-to-all: expected a count of values " + std::string(way) +
                     " for each of " + std::to_string(members) + " members, found " +
                     std::to_string(counts.size()));
    }
    std::size_t sum = 0;
    // No sum beyond the values, so none that overflows.
    for (const std::size_t count : counts) sum += std::min(count, values + 1 - sum);
    if (sum == values) return {};
    return invalid("an all-to-all: the counts of values " + std::string(way) +
                   " do not add up to the " + std::to_string(values) + " values");
  };
  HOCKET_TRY(check_types(work, "an all-to-all"));
  HOCKET_TRY(check(work.sent_counts, work.values.size(), "sent"));
  HOCKET_TRY(check(work.received_counts, work.received.size(), "received"));
  if (work.sent_counts[own] == work.received_counts[own]) return {};
  return invalid("an all-to-all: this rank sends itself " + std::to_string(work.sent_counts[own]) +
                 " values and receives " + std::to_string(work.received_counts[own]));
}

std::vector<ValueRange> exchanged_ranges(const CollectiveWork& work,
                                         std::span<const std::size_t> counts) {
  const bool whole = work.begin == 0 && work.end == 0;
  std::vector<ValueRange> ranges;
  std::size_t first = 0;
  for (const std::size_t count : counts) {
    const std::size_t begin = std::min(work.begin, count);
    const std::size_t end = whole ? count : std::clamp(work.end, begin, count);
    ranges.push_back({first + begin, first + end});
    first += count;
  }
  return ranges;
}

CollectiveBlocks::CollectiveBlocks(const BlockCut& of, const Mesh& mesh, std::int64_t rank)
    : mesh_(mesh), axes_(of.group.axes), rank_(rank) {
  HOCKET_CHECK(rank >= 0 && rank < mesh.grid().ranks, "a rank of the mesh");
  const RankGrid grid = mesh.grid_of(axes_);
  const CutBlocks cut(of, grid.ranks);
  const std::int64_t index = mesh.index_in(axes_, rank);
  const std::int64_t host = grid.host_of(index), place = grid.place_of(index);
  const bool is_inside = of.group.tier == GroupTier::inside;
  std::int64_t own = index, members = grid.ranks;
  if (is_inside) {
    first_index_ = host * grid.ranks_per_host;
    own = place;
    members = grid.ranks_per_host;
    if (!cut.is_whole()) ranges_each_ = static_cast<std::size_t>(grid.hosts());
  } else if (of.group.tier == GroupTier::between) {
    first_index_ = place;
    index_step_ = grid.ranks_per_host;
    own = host;
    members = grid.hosts();
  }
  own_ = static_cast<std::size_t>(own);
  members_ = static_cast<std::size_t>(members);
  ranges_.reserve(members_ * ranges_each_);
  for (std::size_t member = 0; member < members_; ++member) {
    const std::int64_t owner = index_of(member);
    if (!is_inside) {
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
