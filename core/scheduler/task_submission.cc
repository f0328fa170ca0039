#include "core/scheduler/task_submission.h"

#include <algorithm>

#include "core/collective/part_sizes.h"

namespace hocket {
namespace {

/// Sets the range of every rank's block that `part` covers. The parts of the whole become parts of
/// every block, of which some may be empty.
void scatter(const PartDecision& part, int ranks, std::int64_t all, CollectiveWork& work) {
  const auto size = static_cast<std::int64_t>(work.values.element_bytes());
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

/// Returns as many of `values` as there are in `counts`; all if there are not as many.
ValueSpan counted(ValueSpan values, std::span<const std::size_t> counts) {
  std::size_t left = values.size();
  for (const std::size_t count : counts) {
    if (count > left) return values;
    left -= count;
  }
  return values.subspan(0, values.size() - left);
}

/// Sets what `part` covers of an all-to-all whose counts are known now.
void cut_all_to_all(const PartDecision& part, int members, std::int64_t all, CollectiveWork& work) {
  scatter(part, members, all, work);
  // Values beyond the bound on what a member sends to another belong to the last part.
  const bool is_last = part.offset_bytes + part.bytes == all;
  if (is_last) work.end = ~std::size_t{0};
  if (is_last && part.offset_bytes == 0) work.begin = 0;
  work.values = counted(work.values, work.sent_counts);
  work.received = counted(work.received, work.received_counts);
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
  const auto range_of = [&](ValueSpan values) {
    const auto size = static_cast<std::int64_t>(values.element_bytes());
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
  if (special.work.kind == CollectiveKind::all_to_all) {
    cut_all_to_all(part, special.blocks, special.divided_bytes, work.collective);
  } else if (special.is_of_some() && !special.is_scattered) {
    work.collective.values = range_of(special.work.values);
    if (special.work.kind == CollectiveKind::shift)
      work.collective.received = range_of(special.work.received);
  } else if (special.is_scattered && special.work.end == 0) {
    const auto all = static_cast<std::int64_t>(special.work.values.size_bytes());
    scatter(part, special.blocks > 0 ? special.blocks : ranks, all, work.collective);
  }
  return work;
}

}  // namespace hocket
