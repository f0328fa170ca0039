// Any text is refused, or gives tasks whose numbers are in their ranges: it is what Slurm's
// programs print, or a site's wrappers of them. So are options, which users write, and logs, which
// jobs do.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "tuner/slurm/allocation.h"
#include "tuner/slurm/slurm_options.h"
#include "tuner/slurm/task_list.h"
#include "tuner/slurm/task_log.h"

namespace {

void check_tasks(const hocket::Result<std::vector<hocket::SlurmTask>>& tasks) {
  if (!tasks) return;
  for (const hocket::SlurmTask& task : *tasks) {
    HOCKET_CHECK(task.index >= 0 && task.restarts >= 0, "numbers are not negative");
    HOCKET_CHECK(!task.exit || hocket::has_ended(task.state), "only what has ended has an end");
    hocket::SlurmSubmission submission;
    submission.output = task.reason;
    static_cast<void>(hocket::slurm_log_path(submission, task.job_id, task));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_tasks(hocket::tasks_from_squeue(text));
  check_tasks(hocket::tasks_from_sacct(text));
  if (const auto left_ns = hocket::slurm_duration_ns(text))
    HOCKET_CHECK(*left_ns >= 0, "a time is not negative");
  if (const auto options = hocket::slurm_options(text)) {
    static_cast<void>(hocket::slurm_option(*options, "output", 'o'));
  }
  static_cast<void>(hocket::slurm_cause(text));
  return 0;
}
