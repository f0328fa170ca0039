#pragma once

// Finds the records of a trace that have a counterpart on every rank, and pairs them. Pure.

#include <algorithm>
#include <tuple>
#include <vector>

#include "core/trace/rank_trace.h"

namespace hocket {

using RecordList = std::vector<const TraceRecord*>;

/// Returns collectives by sequence number. Of two records with one number the first counts.
inline RecordList sequenced_records(const RankTrace& trace) {
  RecordList list;
  for (const TraceRecord& record : trace.records) {
    const bool is_meant = record.kind == TraceKind::communication && record.collective &&
                          record.sequence != kNoSequence;
    if (is_meant && is_plausible(record)) list.push_back(&record);
  }
  const auto key = [](const TraceRecord* r) {
    return std::tuple(r->sequence, r->begin_ns, r->end_ns, r->bytes, r->collective, r->name);
  };
  std::sort(list.begin(), list.end(),
            [&](const auto* a, const auto* b) { return key(a) < key(b); });
  list.erase(std::unique(list.begin(), list.end(),
                         [](const auto* a, const auto* b) { return a->sequence == b->sequence; }),
             list.end());
  return list;
}

/// Calls `use(i, j)` for all indices of equal sequence in both lists.
template <class Use>
void for_each_pair(const RecordList& a, const RecordList& b, Use use) {
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i]->sequence == b[j]->sequence) {
      use(i++, j++);
    } else {
      a[i]->sequence < b[j]->sequence ? ++i : ++j;
    }
  }
}

}  // namespace hocket
