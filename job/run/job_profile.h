#pragma once

// Profiles some iterations of the job into the store: every rank records what it runs and writes
// its trace, and rank 0 adds the profile (archive/profiles/save_profile.h). Every rank calls the
// same functions in the same order, from one thread. No error here ends the job.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/protocol/job_report.h"
#include "core/trace/trace_sink.h"
#include "job/training/training.h"
#include "profiler/session/profile_session.h"

namespace hocket {

/// Parses "at=100,iterations=20,interleave=5": 20 iterations from step 100 on, in blocks of 5
/// separated by as many iterations that are not profiled. Without `interleave` there is one block;
/// `iterations` defaults to 10.
Result<ProfileSpan> parse_profile_span(std::string_view text);

/// Returns rank 0's `span` on every rank; empty when rank 0 wants no profile. Errors are those of
/// the connection.
Result<std::optional<ProfileSpan>> agree_on_span(Collective& collective,
                                                 const std::optional<ProfileSpan>& span);

class JobProfile {
 public:
  using Say = std::function<void(const std::string&)>;

  /// Uses the training's collective, clock and recorder, which must outlive this object.
  JobProfile(const Training& training, const Say& warn);

  /// Profiles `span`, counted in the training's steps, while `phase` runs, and adds itself as the
  /// phase's observer and in front of its trace sink. Call it before the phase runs.
  void watch(TrainingPhase& phase, ProfileSpan span);

  /// Does the same without a span: request() provides it while the phase runs.
  void watch(TrainingPhase& phase);

  /// Profiles `steps` steps from `first_step` on, counted from 0 in the phase. Every rank must call
  /// it before it submits the first of them.
  void request(std::int64_t first_step, std::int64_t steps);

  /// Returns whether the requested span is over before `step`; the same on every rank.
  bool is_due(std::int64_t step) const { return due_ == step; }

  /// Writes the traces and, on rank 0, saves the profile with the metadata of `report` into the
  /// store `store_path`, and says where it is. Nothing may be under way on the scheduler. Does
  /// nothing when no rank has recorded anything.
  void save(const RunReport& report, const Result<std::string>& store_path, const Say& say);

 private:
  /// Forwards every event to two sinks.
  class Both final : public TraceSink {
   public:
    void record(const TraceEvent& event) override {
      session->record(event);
      if (other) other->record(event);
    }
    TraceDetail detail(std::int64_t step) const override {
      const TraceDetail wanted = session->detail(step);
      return other ? std::max(wanted, other->detail(step)) : wanted;
    }
    void placed(const StepDescription& step) override {
      session->placed(step);
      if (other) other->placed(step);
    }
    TraceSink *session = nullptr, *other = nullptr;
  };

  Collective& collective_;
  const Clock& clock_;
  const Say warn_;
  ProfileSession session_;
  Both both_;
  std::optional<std::int64_t> due_;
};

}  // namespace hocket
