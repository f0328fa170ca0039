#pragma once

// Restores traces from events that ChromeTraceWriter wrote. Not thread-safe.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/trace/rank_trace.h"
#include "core/trace/trace_builder.h"
#include "profiler/formats/chrome_events.h"
#include "profiler/formats/import_notes.h"

namespace hocket {

/// Takes events whose category is one of hocket's (profiler/formats/category.h).
class OwnEvents {
 public:
  /// Takes a record. Without `end_ns` the event counts as quarantined.
  void take_record(const ChromeEvent& event, TraceKind kind, std::optional<std::int64_t> end_ns,
                   ImportNotes& notes);
  /// Returns true if this metadata is hocket's or names a thread, and takes it.
  bool take_metadata(const ChromeEvent& event);
  /// Returns true if this instant event marks a step, and takes it.
  bool take_step(const ChromeEvent& event);

  /// Returns the traces by rank.
  std::vector<RankTrace> finish();

 private:
  struct Process {
    RankTrace trace;
    Interner names;
    std::map<std::pair<std::string, std::vector<std::int64_t>>, std::int32_t> groups;
    bool knows_ranks = false;
    /// Records whose event had no lane, and their threads.
    std::vector<std::pair<std::size_t, std::uint32_t>> without_lane;
    Interner threads;
  };

  Process* process_of(const ChromeEvent& event);
  void find_lanes(Process& process);

  std::map<std::int64_t, Process> processes_;
  std::map<std::pair<std::string, std::string>, std::string> thread_names_;
};

}  // namespace hocket
