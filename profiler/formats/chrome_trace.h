#pragma once

// Writes traces as a timeline that Perfetto and chrome://tracing open, in the JSON trace event
// format (docs/formats/trace.md). Thread-safe.

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/trace/rank_trace.h"
#include "core/trace/trace_sink.h"
#include "profiler/formats/lane_tracks.h"

namespace hocket {

/// Shows each rank as a process and each stream and channel as a thread. Events of one thread never
/// overlap, since Perfetto drops those that do: if two events of a lane overlap, the second goes to
/// another thread. Ranges and calls of a host thread may nest.
class ChromeTraceWriter {
 public:
  /// Writes to `out` as events come in. `out` must outlive this object.
  explicit ChromeTraceWriter(std::ostream& out);
  ~ChromeTraceWriter();  ///< Ends the document unless finish() did
  ChromeTraceWriter(const ChromeTraceWriter&) = delete;
  ChromeTraceWriter& operator=(const ChromeTraceWriter&) = delete;

  /// Returns the sink for the events of `rank`. It lives as long as this object.
  TraceSink& rank(std::int64_t rank);

  /// Writes a trace on its own clock, with everything that read_chrome_trace() needs to read back
  /// an equal trace; records that came through rank() carry less. Call at most once per rank.
  /// Requires `trace` in order.
  void write(const RankTrace& trace);

  /// Names the lanes and ends the document; nothing may be recorded afterwards. Returns unavailable
  /// if `out` failed.
  Result<void> finish();

 private:
  /// The identity and sort key of a lane in the file.
  struct LaneKey {
    std::int64_t rank = 0;
    TraceKind kind = TraceKind::compute;
    std::int32_t lane = 0;

    auto operator<=>(const LaneKey&) const = default;
  };
  /// The threads that a lane needs for its overlapping events.
  struct Lane {
    LaneTracks tracks;
    std::vector<std::int64_t> threads;  ///< by track
  };
  class RankSink;

  void record(std::int64_t rank, const TraceEvent& event);
  /// Returns the thread that shows an event of the lane.
  std::int64_t take_thread(const LaneKey& lane, std::int64_t begin_ns, std::int64_t end_ns);
  /// Writes an event up to its arguments.
  void begin_span(const LaneKey& lane, std::string_view name, std::int64_t begin_ns,
                  std::int64_t end_ns);
  void write_head(const RankTrace& trace);
  void write_record(const RankTrace& trace, const TraceRecord& record);
  void write_names();
  void begin_event();
  void write_text();

  std::mutex mutex_;  ///< guards all members below
  std::ostream& out_;
  std::map<std::int64_t, std::unique_ptr<RankSink>> ranks_;
  std::map<LaneKey, Lane> lanes_;
  std::int64_t threads_ = 0;
  std::string text_;  ///< text not yet written
  bool is_first_ = true;
  bool is_finished_ = false;
};

}  // namespace hocket
