#include "daemon/api/handlers/key_jobs.h"

#include <algorithm>

#include "daemon/live/job_fit.h"

namespace hocket {

Result<void> check_own_knobs(Store& store, const ConfigKey& key, const ScheduleConfig& config) {
  UnreadRows unread;
  const auto rows = store.workloads(key.workload, &unread);
  HOCKET_TRY(rows);
  const auto row = std::ranges::find(*rows, key.workload, &WorkloadRow::fingerprint);
  if (row == rows->end()) return {};
  const auto workload = workload_from_json(row->document);
  HOCKET_TRY(workload);
  return check_declared(config, workload->knobs);
}

KeyJobs jobs_of(const RouteCall& call, const ConfigKey& key, const ScheduleConfig& config) {
  KeyJobs jobs;
  call.parts.jobs.for_each(key, [&](const RunningJob& job) {
    const JobFit fit = fit_of(job.description, config);
    ++jobs.running;
    if (fit.fit == JobFitKind::now) {
      ++jobs.can_change;
    } else {
      if (fit.fit == JobFitKind::at_start) ++jobs.can_start;
      if (jobs.reason.empty()) jobs.reason = "job " + job.description.id + ": " + fit.reason;
    }
    return true;
  });
  return jobs;
}

}  // namespace hocket
