#include "core/cuda/collectives/device_pieces.h"

#include <algorithm>
#include <span>

#include "core/collective/collective_blocks.h"

namespace hocket {
namespace {

/// Returns the spans of a part: one, or the tensors of its bucket in order.
std::span<const ValueSpan> spans_of(const PartWork& part) {
  if (part.bucket.empty()) return {&part.collective.values, 1};
  return part.bucket;
}

/// Appends to `pieces` the values of `spans` in `range`, counted over all spans in order, with
/// `owner`.
void add_pieces(std::span<const ValueSpan> spans, const ValueRange& range, int owner,
                std::vector<DevicePiece>& pieces) {
  std::size_t before = 0;
  for (const ValueSpan& values : spans) {
    const std::size_t begin = std::max(range.begin, before);
    const std::size_t end = std::min(range.end, before + values.size());
    if (begin < end) pieces.push_back({values.subspan(begin - before, end - begin), owner});
    before += values.size();
  }
}

struct OwnedRange {
  ValueRange range;
  int owner = 0;
};

}  // namespace

void find_pieces(const PartWork& part, const Mesh& mesh, int rank,
                 std::vector<DevicePiece>& pieces) {
  pieces.clear();
  const std::span<const ValueSpan> spans = spans_of(part);
  std::size_t size = 0;
  for (const ValueSpan& values : spans) size += values.size();
  const CollectiveWork& work = part.collective;
  const bool owned = work.kind != CollectiveKind::all_reduce;
  if (!owned && work.group.tier == GroupTier::whole && work.end == 0) {
    add_pieces(spans, {0, size}, 0, pieces);
    return;
  }
  const CollectiveBlocks blocks(
      BlockCut{work.group, size, work.begin, work.end, spans.front().type()}, mesh, rank);
  std::vector<OwnedRange> ranges;
  for (std::size_t member = 0; member < blocks.members(); ++member) {
    for (const ValueRange& range : blocks.piece(member))
      ranges.push_back({range, owned ? static_cast<int>(member) : 0});
  }
  std::ranges::sort(ranges, {}, [](const OwnedRange& of) { return of.range.begin; });
  for (std::size_t i = 0; i < ranges.size();) {
    OwnedRange joined = ranges[i++];
    while (i < ranges.size() && ranges[i].owner == joined.owner &&
           ranges[i].range.begin == joined.range.end)
      joined.range.end = ranges[i++].range.end;
    add_pieces(spans, joined.range, joined.owner, pieces);
  }
}

}  // namespace hocket
