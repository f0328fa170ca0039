#pragma once

// A profile of some iterations of the job, in the store: every rank keeps what it ran and writes
// its trace, and rank 0 adds the profile (profiler/archive/save_profile.h). Every rank calls the
// same functions in the same order, from one thread. Nothing that goes wrong here ends the job.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/protocol/job_report.h"
#include "core/trace/trace_sink.h"
#include "examples/gpt2/job/training.h"
#include "profiler/session/profile_session.h"

namespace hocket {

/// "at=100,iterations=20,interleave=5": from step 100 on, 20 iterations, in blocks of 5 with as
/// many between them that are not profiled. Without `interleave` in one block; without
/// `iterations` 10.
Result<ProfileSpan> parse_profile_span(std::string_view text);

/// What rank 0 wants profiled, on every rank; nothing when it wants nothing. An error is the
/// connection's.
Result<std::optional<ProfileSpan>> agree_on_span(Collective& collective,
                                                 const std::optional<ProfileSpan>& span);

class JobProfile {
 public:
  using Say = std::function<void(const std::string&)>;

  /// `device`, if not null, records this rank's device beside, and outlives this.
  JobProfile(Collective& collective, const Clock& clock, const Say& warn,
             DeviceRecorder* device = nullptr);

  /// Profiles `span`, whose steps are the training's, while `phase` runs, which is then watched by
  /// this as well as by its trace sink. Before it runs.
  void watch(Phase& phase, ProfileSpan span);

  /// The same without a span: request() gives it while the phase runs.
  void watch(Phase& phase);

  /// Profiles `steps` steps of the phase from `first_step` on, the phase's first being 0. Every
  /// rank calls it before it submits the first of them.
  void request(std::int64_t first_step, std::int64_t steps);
  /// Whether what was requested is over before step `step`, the same on every rank.
  bool is_due(std::int64_t step) const { return due_ == step; }

  /// With nothing under way on the scheduler: writes the traces and, on rank 0, the profile of what
  /// `report` says, into the store `store_path`, and says where it is. Does nothing when no rank
  /// has recorded anything.
  void save(const RunReport& report, const Result<std::string>& store_path, const Say& say);

 private:
  /// Gives everything to two sinks.
  class Both final : public TraceSink {
   public:
    void record(const TraceEvent& event) override {
      session->record(event);
      if (other) other->record(event);
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
