#pragma once

// The raw records of a profile session's span, and the function that assembles a profile from them.
// At most one thread at a time writes each part; assemble_profile() is pure.

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "core/step/task.h"
#include "core/step/task_communication.h"
#include "core/trace/rank_trace.h"
#include "core/trace/trace_sink.h"
#include "profiler/session/fixed_buffer.h"
#include "profiler/session/profile_session.h"
#include "profiler/session/span_steps.h"

namespace hocket {

inline constexpr std::int64_t kNeverNs = std::numeric_limits<std::int64_t>::max();

struct Submission {
  TaskId id;
  std::int64_t submitted_ns = 0;
  std::string_view name;
  std::int64_t bytes = 0;
  std::size_t first_access = 0;
  std::uint32_t accesses = 0;
  std::uint32_t priority = 0;
  bool is_collective = false;
  TaskLane lane = TaskLane::stream;
  TaskCommunication communication = {};
};

struct Readiness {
  TaskId id;
  std::int64_t ready_ns = 0;
  std::size_t submissions = 0;  ///< submissions before it, since ids are reused
};

/// Events in chunks, each of which one lane fills.
class EventPool {
 public:
  explicit EventPool(std::size_t capacity);

  /// A lane's position in the pool.
  struct Cursor {
    std::size_t chunk = 0, used = 0, size = 0;
  };
  /// Appends an event; many lanes may call it at once, each with its own cursor. Returns false if
  /// the pool is full.
  bool append(Cursor& cursor, const TraceEvent& event);
  /// Returns all events, lane by lane. Requires that no thread appends.
  std::vector<const TraceEvent*> events() const;

 private:
  const std::size_t chunk_size_;
  FixedBuffer<TraceEvent> events_;
  std::vector<std::size_t> used_;  // by chunk
  std::atomic<std::size_t> next_chunk_ = 0;
};

/// A block of steps for which records were kept.
struct BlockLog {
  std::int64_t block = 0;
  std::size_t first_submission = 0, first_readiness = 0, first_access = 0;
  bool is_closed = false;  ///< all of it has run
};

struct SpanLog {
  SpanLog(const ProfileSpan& span, std::size_t capacity);

  /// Returns the earliest known begin of a task of `step`.
  std::int64_t start_ns(std::int64_t step) const {
    const std::int64_t index = step - first_step;
    if (index < 0 || index >= std::ssize(starts_ns)) return kNeverNs;
    return starts_ns[static_cast<std::size_t>(index)].load(std::memory_order_relaxed);
  }

  const SpanSteps steps;
  const std::int64_t first_step;
  std::vector<std::atomic<std::int64_t>> starts_ns;  ///< by step, from the first
  std::atomic<std::int64_t> latest_step = kNoStep;   ///< highest step seen so far

  EventPool events;
  std::atomic<std::int64_t> dropped = 0, first_dropped_ns = kNeverNs;

  FixedBuffer<Submission> submissions;
  FixedBuffer<Readiness> readiness;
  FixedBuffer<Access> accesses;
  std::int64_t submissions_full_ns = kNeverNs;  ///< time at which the first of these did not fit
  std::vector<BlockLog> blocks;

  std::vector<ClockSample> clock_samples;
  std::optional<HostUse> host_at_start, host_at_end;
  /// The step that the scheduler placed last, if it places steps.
  std::optional<StepDescription> placed_from;
};

/// Assembles the profile of `log`.
ProfileResult assemble_profile(const SpanLog& log, const ProfileSessionOptions& options);

}  // namespace hocket
