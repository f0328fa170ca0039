#pragma once

// Trains a job's steps with everything around them: the order of collectives for order=static, the
// times of iterations, live tuning by the daemon that HOCKET_DAEMON names, profiles, on request
// too, and a tape of the scheduler's decisions. Every rank calls it, from one thread.

#include <cstdint>
#include <vector>

#include "client/start/client.h"
#include "core/base/result.h"
#include "core/protocol/job_report.h"
#include "core/step/schedule_config.h"
#include "core/trace/trace_sink.h"
#include "job/run/job_start.h"
#include "job/run/run_options.h"
#include "job/training/static_order.h"
#include "job/training/training.h"

namespace hocket {

struct FinishedRun {
  std::vector<TraceEvent> events;
  std::int64_t warmup = 0;  ///< steps in `events` that are not measured
  ScheduleConfig config;    ///< rank 0: the last configuration
  double explored = 0;      ///< rank 0: share of the time spent on trying others
};

/// The state that a run begins with.
struct RunStart {
  /// The job and the configuration to begin with.
  const RunReport& report;
  const FetchedConfig& fetched;
  /// Steps that were trained before to measure them.
  const MeasuredStep& before;
  JobKind kind;
  /// The tasks run on a device, which can run steps as graphs.
  bool on_device = false;
};

/// Trains the steps up to `options.steps` that `start.before` has not trained. Writes the job's
/// iteration times to the file that HOCKET_ITERATIONS names, and a profile, if one is asked for, to
/// the store that HOCKET_STORE names. Problems of the daemon, of the store or of a profile become
/// warnings. Returns errors of the training, and unavailable when the tape cannot be written.
Result<FinishedRun> train_job(const RunOptions& options, const RunStart& start,
                              const Training& training, const RunMessages& messages);

}  // namespace hocket
