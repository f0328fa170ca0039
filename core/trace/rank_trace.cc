#include "core/trace/rank_trace.h"

#include <algorithm>

namespace hocket {

bool is_plausible(const TraceRecord& record) {
  return record.begin_ns >= 0 && record.end_ns >= record.begin_ns && record.lane >= 0 &&
         record.bytes >= 0 && record.submitted_ns >= 0 && record.ready_ns >= 0 &&
         record.step >= kNoStep && record.task >= kNoTask && record.sequence >= kNoSequence &&
         record.group >= kAllRanks;
}

double doubtful_share(const RankTrace& trace) {
  const auto work = static_cast<double>(std::ranges::count_if(trace.records, is_activity));
  const double missing =
      static_cast<double>(trace.dropped) + static_cast<double>(trace.quarantined);
  const double all = work + missing;
  return all == 0 ? 0 : std::min((missing + static_cast<double>(trace.shortened)) / all, 1.0);
}

bool has_activity(const RankTrace& trace) {
  return std::ranges::any_of(trace.records, [](const TraceRecord& record) {
    return is_activity(record) && is_plausible(record);
  });
}

void put_in_order(RankTrace& trace) {
  const std::size_t names = trace.names.size();
  const std::int64_t groups = std::ssize(trace.groups);
  trace.quarantined += static_cast<std::int64_t>(
      std::erase_if(trace.records, [names, groups](const TraceRecord& record) {
        return !is_plausible(record) || record.name >= names || record.group >= groups;
      }));
  const auto by_begin = [](const TraceRecord& a, const TraceRecord& b) {
    return a.begin_ns < b.begin_ns;
  };
  // Most traces arrive sorted, and a stable sort of a long one doubles its memory.
  if (!std::is_sorted(trace.records.begin(), trace.records.end(), by_begin)) {
    std::stable_sort(trace.records.begin(), trace.records.end(), by_begin);
  }
}

}  // namespace hocket
