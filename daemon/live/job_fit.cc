#include "daemon/live/job_fit.h"

namespace hocket {

JobFit fit_of(const JobDescription& job, const ScheduleConfig& config) {
  if (!job.can_run.says_running()) return {};
  const auto now = check_change(job.can_run, job.knobs, job.config, config);
  if (now) return {};
  const auto start = check_start(job.can_run, config);
  if (start) return {JobFitKind::at_start, now.error().message};
  return {JobFitKind::never, start.error().message};
}

}  // namespace hocket
