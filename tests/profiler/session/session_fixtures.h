#pragma once

// What a profile must say, from all events of a run.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "profiler/metrics/iterations.h"
#include "profiler/session/profile_session.h"

namespace hocket {

/// Gives a session and a recorder the same events.
class WatchedRun final : public TraceSink {
 public:
  explicit WatchedRun(ProfileSession& session) : session_(session) {}

  void record(const TraceEvent& event) override {
    recorder.record(event);
    if (before_event) before_event();
    session_.record(event);
  }

  TraceRecorder recorder;
  std::function<void()> before_event;

 private:
  ProfileSession& session_;
};

/// Everything of a record that an event has.
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

/// The windows of `trace`: steps that the next one follows.
inline std::vector<std::pair<StepStart, std::int64_t>> windows_of(const RankTrace& trace) {
  std::vector<std::pair<StepStart, std::int64_t>> windows;
  for (std::size_t i = 0; i + 1 < trace.step_starts.size(); ++i) {
    if (trace.step_starts[i].step + 1 == trace.step_starts[i + 1].step)
      windows.emplace_back(trace.step_starts[i], trace.step_starts[i + 1].begin_ns);
  }
  return windows;
}

/// The events that were inside any window of `trace`.
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

/// `result` is what `recorder` saw: every window is one, and nothing of it is missing.
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

/// Records of the steps with a window know their task, and it is the right one; names must differ.
inline void expect_tasks(const ProfileResult& result) {
  // A span that was stopped may not have seen all of any step.
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
