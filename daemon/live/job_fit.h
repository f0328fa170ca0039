#pragma once

// Decides whether a job can try a configuration, from what it says that it can run
// (core/protocol/runnable_values.h). Pure functions; thread-safe.

#include <string>

#include "core/protocol/job_message.h"
#include "core/step/schedule_config.h"

namespace hocket {

enum class JobFitKind {
  now,       ///< the job can change to the configuration while it runs
  at_start,  ///< only a job of this kind that starts can take it
  never,
};

struct JobFit {
  JobFitKind fit = JobFitKind::now;
  std::string reason = {};  ///< why not now; one line

  bool operator==(const JobFit&) const = default;
};

/// A job that does not say what it can run is asked everything: it rejects by itself what it cannot
/// try.
JobFit fit_of(const JobDescription& job, const ScheduleConfig& config);

}  // namespace hocket
