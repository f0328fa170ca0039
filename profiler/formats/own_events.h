#pragma once

// Events as ChromeTraceWriter writes them, back into the traces that they were.

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
  /// Without `end_ns` the event cannot be true.
  void take_record(const ChromeEvent& event, TraceKind kind, std::optional<std::int64_t> end_ns,
                   ImportNotes& notes);
  /// Whether this metadata is hocket's, or names a thread.
  bool take_metadata(const ChromeEvent& event);
  /// Whether this instant event marks a step.
  bool take_step(const ChromeEvent& event);

  /// By rank.
  std::vector<RankTrace> finish();

 private:
  struct Process {
    RankTrace trace;
    Interner names;
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
