#pragma once

// Writes what ran as a timeline that Perfetto and chrome://tracing open: the JSON trace event
// format, docs/formats/trace.md. Thread-safe.

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/trace.h"

namespace hocket {

/// One process a rank, one thread a stream and a channel. Events of one thread never overlap, since
/// Perfetto drops those that do: where two of one lane overlap, the second goes to a thread of its
/// own.
class ChromeTraceWriter {
 public:
  /// Writes to `out`, which must outlive this, as events come in.
  explicit ChromeTraceWriter(std::ostream& out);
  ~ChromeTraceWriter();  ///< Ends the document if finish() did not.
  ChromeTraceWriter(const ChromeTraceWriter&) = delete;
  ChromeTraceWriter& operator=(const ChromeTraceWriter&) = delete;

  /// Where the events of `rank` go. Lives as long as this.
  TraceSink& rank(std::int64_t rank);

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
    std::vector<std::int64_t> threads;
    std::multimap<std::int64_t, std::int64_t> by_end;  ///< thread by the end of its last event
  };
  class RankSink;

  void record(std::int64_t rank, const TraceEvent& event);
  /// The thread of `lane` whose last event ended latest before `begin_ns`; a new one when all are
  /// busy. It is busy until `end_ns` from then on.
  std::int64_t take_thread(Lane& lane, std::int64_t begin_ns, std::int64_t end_ns);
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
