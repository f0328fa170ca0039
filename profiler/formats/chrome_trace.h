#pragma once

// Writes what ran as a timeline that Perfetto and chrome://tracing open: the JSON trace event
// format, docs/formats/trace.md. Thread-safe.

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

/// One process a rank, one thread a stream and a channel. Events of one thread never overlap, since
/// Perfetto drops those that do: where two of one lane overlap, the second goes to a thread of its
/// own. Ranges and calls of a host thread may lie in one another.
class ChromeTraceWriter {
 public:
  /// Writes to `out`, which must outlive this, as events come in.
  explicit ChromeTraceWriter(std::ostream& out);
  ~ChromeTraceWriter();  ///< Ends the document if finish() did not.
  ChromeTraceWriter(const ChromeTraceWriter&) = delete;
  ChromeTraceWriter& operator=(const ChromeTraceWriter&) = delete;

  /// Where the events of `rank` go. Lives as long as this.
  TraceSink& rank(std::int64_t rank);

  /// Writes a trace on its own clock, with all that read_chrome_trace() needs to read it back
  /// equal: records that came through rank() carry less. At most once a rank. `trace` is in order.
  void write(const RankTrace& trace);

  /// Names the lanes and ends the document; nothing may be recorded afterwards. unavailable when
  /// `out` did not take all of it.
  Result<void> finish();

 private:
  /// What orders the lanes of a file, and what they are called by.
  struct LaneKey {
    std::int64_t rank = 0;
    TraceKind kind = TraceKind::compute;
    std::int32_t lane = 0;

    auto operator<=>(const LaneKey&) const = default;
  };
  /// The threads that one lane needs for its overlapping events.
  struct Lane {
    LaneTracks tracks;
    std::vector<std::int64_t> threads;  ///< of each track
  };
  class RankSink;

  void record(std::int64_t rank, const TraceEvent& event);
  /// The thread that shows an event of the lane.
  std::int64_t take_thread(const LaneKey& lane, std::int64_t begin_ns, std::int64_t end_ns);
  /// All of an event up to its arguments.
  void begin_span(const LaneKey& lane, std::string_view name, std::int64_t begin_ns,
                  std::int64_t end_ns);
  void write_head(const RankTrace& trace);
  void write_record(const RankTrace& trace, const TraceRecord& record);
  void write_names();
  void begin_event();
  void write_text();

  std::mutex mutex_;  ///< of all that follows
  std::ostream& out_;
  std::map<std::int64_t, std::unique_ptr<RankSink>> ranks_;
  std::map<LaneKey, Lane> lanes_;
  std::int64_t threads_ = 0;
  std::string text_;  ///< not yet written
  bool is_first_ = true;
  bool is_finished_ = false;
};

}  // namespace hocket
