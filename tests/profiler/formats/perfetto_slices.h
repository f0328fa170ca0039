#pragma once

// Converts records and a Perfetto trace's slices to comparable values. Pure.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "core/trace/rank_trace.h"
#include "profiler/formats/category.h"
#include "tests/profiler/formats/perfetto_decoder.h"

namespace hocket {

/// A record or a slice: process, lane, begin, end, category, name, step, bytes, sequence, task,
/// collective.
using ComparedSlice =
    std::tuple<std::string, std::string, std::uint64_t, std::uint64_t, std::string, std::string,
               std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::string>;

inline std::string lane_name(const TraceRecord& record) {
  const std::map<TraceKind, std::string> words{{TraceKind::compute, "stream "},
                                               {TraceKind::communication, "communication "},
                                               {TraceKind::copy, "copies "},
                                               {TraceKind::range, "thread "},
                                               {TraceKind::call, "calls "}};
  return words.at(record.kind) + std::to_string(record.lane);
}

inline ComparedSlice compared(const RankTrace& trace, const TraceRecord& record) {
  const std::string host = trace.host.empty() ? "" : " on " + trace.host;
  return {"rank " + std::to_string(trace.rank) + host,
          lane_name(record),
          static_cast<std::uint64_t>(record.begin_ns),
          static_cast<std::uint64_t>(record.end_ns),
          std::string(category_of(record.kind)),
          trace.names[record.name],
          record.step,
          record.bytes,
          record.sequence,
          record.task,
          record.collective ? std::string(to_string(*record.collective)) : ""};
}

inline std::multiset<ComparedSlice> slices_of(const DecodedTracks& tracks) {
  std::multiset<ComparedSlice> found;
  for (const auto& [uuid, track] : tracks) {
    if (track.name == "steps" || track.name == "exposed communication") continue;
    const std::string lane = track.name.substr(0, track.name.find(" ("));
    for (const DecodedSlice& slice : track.slices) {
      const auto integer = [&](const char* name, std::int64_t otherwise) {
        const auto at = slice.integers.find(name);
        return at == slice.integers.end() ? otherwise : at->second;
      };
      const auto text = slice.texts.find("collective");
      found.insert({tracks.at(track.parent).process, lane, slice.begin_ns, slice.end_ns,
                    slice.category, slice.name, integer("step", -1), integer("bytes", 0),
                    integer("sequence", -1), integer("task", -1),
                    text == slice.texts.end() ? "" : text->second});
    }
  }
  return found;
}

}  // namespace hocket
