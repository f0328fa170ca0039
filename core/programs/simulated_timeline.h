#pragma once

// The timeline of one simulated rank, with the kinds, groups and pairs of what it communicates, so
// that the timelines of several ranks make a profile. One thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/description/step_description.h"
#include "core/plan/captured_step.h"
#include "core/step/mesh.h"
#include "core/trace/rank_trace.h"
#include "core/trace/trace_builder.h"
#include "core/trace/trace_sink.h"

namespace hocket {

class SimulatedTimeline final : public TraceSink {
 public:
  /// `step` must be valid and have `rank`.
  SimulatedTimeline(const StepDescription& step, std::int64_t rank);

  void record(const TraceEvent& event) override;

  /// Returns the trace, in order. Its clock is that of all ranks.
  RankTrace take();

 private:
  /// The program of a rank of a step whose ranks do not all take part in everything. Nothing cuts
  /// or joins its tasks.
  struct Program {
    std::vector<StepTask> tasks;
    CapturedStep captured;
  };

  std::int32_t group_of(const TraceEvent& event, const StepTask* task);
  std::int32_t number_of(TraceGroup group);
  /// Numbers communication by group in the order of submission, which all members share, and the
  /// parts of a task in the order of their ends.
  void number_parts();

  const Mesh mesh_;
  std::optional<Program> program_;
  RankTrace trace_;
  Interner names_;
  std::map<std::pair<std::string, std::vector<std::int64_t>>, std::int32_t> groups_;
  std::map<std::int64_t, std::int64_t> starts_;  ///< of each step
};

}  // namespace hocket
