#pragma once

// Derives the expected contents of a profile from all events of a run. Thread-safe as TraceSink
// requires.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "core/trace/task_marker.h"
#include "profiler/metrics/iterations.h"
#include "profiler/session/profile_session.h"

namespace hocket {

/// Passes the same events to a session and a recorder.
class WatchedRun final : public TraceSink {
 public:
  explicit WatchedRun(ProfileSession& session) : session_(session) {}

  void record(const TraceEvent& event) override {
    recorder.record(event);
    if (before_event) before_event();
    if (obeys_detail && session_.detail(event.step) == TraceDetail::steps) {
      session_.record({TraceKind::compute, event.lane, "step", event.step, event.begin_ns,
                       event.begin_ns, 0, kWholeStep});
    } else {
      session_.record(event);
    }
  }

  TraceRecorder recorder;
  std::function<void()> before_event;
  bool obeys_detail = false;  ///< as an executor to which times of tasks cost something

 private:
  ProfileSession& session_;
};

/// The fields that a record shares with an event.
using Ran = std::tuple<std::int64_t, std::int64_t, TraceKind, std::int32_t, std::string,
                       std::int64_t, std::int64_t, std::int64_t>;

inline std::vector<Ran> ran(const RankTrace& trace) {
  std::vector<Ran> all;
  for (const TraceRecord& r : trace.records) {
    all.emplace_back(r.begin_ns, r.end_ns, r.kind, r.lane, trace.names.at(r.name), r.step, r.bytes,
                     r.sequence);
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// Returns the windows of `trace`: those of the steps that the next one follows.
inline std::vector<std::pair<StepStart, std::int64_t>> windows_of(const RankTrace& trace) {
  std::vector<std::pair<StepStart, std::int64_t>> windows;
  for (std::size_t i = 0; i + 1 < trace.step_starts.size(); ++i) {
    if (trace.step_starts[i].step + 1 == trace.step_starts[i + 1].step)
      windows.emplace_back(trace.step_starts[i], trace.step_starts[i + 1].begin_ns);
  }
  return windows;
}

/// Returns the events inside any window of `trace`.
inline std::vector<Ran> ran_inside(const std::vector<TraceEvent>& events, const RankTrace& trace) {
  const auto windows = windows_of(trace);
  std::vector<Ran> all;
  for (const TraceEvent& e : events) {
    const bool inside = std::ranges::any_of(windows, [&](const auto& window) {
      const std::int64_t begin_ns = window.first.begin_ns, end_ns = window.second;
      if (e.begin_ns == e.end_ns) return begin_ns <= e.begin_ns && e.begin_ns < end_ns;
      return e.begin_ns < end_ns && begin_ns < e.end_ns;
    });
    if (inside) {
      all.emplace_back(e.begin_ns, e.end_ns, e.kind, e.lane, std::string(e.name), e.step, e.bytes,
                       e.sequence);
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// Checks `result` against `recorder`: every window is right and complete.
inline void expect_true(const ProfileResult& result, const TraceRecorder& recorder) {
  const RankTrace& trace = result.trace;
  for (const StepStart& start : trace.step_starts)
    EXPECT_EQ(start.begin_ns, recorder.step_start_ns(start.step)) << "step " << start.step;
  EXPECT_EQ(ran(trace), ran_inside(recorder.events(), trace));
  EXPECT_TRUE(std::ranges::is_sorted(trace.records, {}, &TraceRecord::begin_ns));
  for (const TraceRecord& record : trace.records) {
    if (record.kind == TraceKind::range) continue;
    EXPECT_LE(record.submitted_ns, record.ready_ns);
    EXPECT_LE(record.ready_ns, record.begin_ns);
  }
}

/// Checks that records of the steps with a window have the right task. Requires distinct names.
inline void expect_tasks(const ProfileResult& result) {
  // A stopped span may not contain a complete step.
  if (result.structure.tasks.empty()) return;
  for (const TraceRecord& record : result.trace.records) {
    if (record.kind == TraceKind::range) continue;
    const bool has_window = std::ranges::any_of(
        windows_of(result.trace), [&](const auto& w) { return w.first.step == record.step; });
    EXPECT_TRUE(record.task != kNoTask || !has_window);
    if (record.task == kNoTask) continue;
    ASSERT_LT(record.task, std::ssize(result.structure.tasks));
    const StructureTask& task = result.structure.tasks[static_cast<std::size_t>(record.task)];
    EXPECT_EQ(task.name, result.trace.names[record.name]);
    EXPECT_EQ(task.collective, record.collective);
  }
}

}  // namespace hocket
