#include "core/scheduler/task_submission.h"

#include <algorithm>

#include "core/collective/part_sizes.h"

namespace hocket {
namespace {

/// Sets the range of every rank's block that `part` covers. The parts of the whole become parts of
/// every block, of which some may be empty.
void scatter(const PartDecision& part, int ranks, CollectiveWork& work) {
  constexpr std::int64_t size = sizeof(float);
  const auto all = static_cast<std::int64_t>(work.values.size_bytes());
  const std::int64_t block = block_bytes(all, ranks);
  const auto place_of = [&](std::int64_t offset) {
    if (offset == all) return block;
    return block / kBlockAlignmentBytes * offset / all * kBlockAlignmentBytes;
  };
  std::int64_t begin = place_of(part.offset_bytes);
  const std::int64_t end = place_of(part.offset_bytes + part.bytes);
  if (begin == end) begin = block;
  work.begin = static_cast<std::size_t>(begin / size);
  work.end = static_cast<std::size_t>(std::max(begin, end) / size);
}

}  // namespace

PartWork part_of(const TaskPayload& payload, const PartDecision& part, int ranks) {
  PartWork work;
  work.task = part.task;
  work.bytes = part.bytes;
  work.name = payload.name;
  work.served = {part.collective, part.offset_bytes, part.server};
  work.tensor = part.tensor;
  work.optimizer = payload.optimizer;
  const auto range_of = [&](std::span<float> values) {
    constexpr std::int64_t size = sizeof(float);
    return values.subspan(static_cast<std::size_t>(part.offset_bytes / size),
                          static_cast<std::size_t>(part.bytes / size));
  };
  if (!payload.special) {
    work.collective.values = range_of(payload.values);
    return work;
  }
  const SpecialCollective& special = *payload.special;
  work.collective = special.work;
  work.bucket = special.bucket;
  if (special.is_of_some() && !special.is_scattered) {
    work.collective.values = range_of(special.work.values);
  } else if (special.is_scattered && special.work.end == 0) {
    scatter(part, special.blocks > 0 ? special.blocks : ranks, work.collective);
  }
  return work;
}

}  // namespace hocket
