#include "cli/inputs/step/measured_job.h"

#include <cmath>

#include "cli/inputs/access/profile_source.h"
#include "cli/output/value_text.h"

namespace hocket {

Result<MeasuredJob> read_measured_job(const std::string& store_option, const std::string& profile) {
  const auto store = open_profiles(store_option, false);
  HOCKET_TRY(store);
  const auto row = find_profile(**store, profile);
  HOCKET_TRY(row);
  return measured_job(*row);
}

std::string check_text(const MeasuredJob& job) {
  const double error = job.check.error();
  return "profile " + job.name + ": " +
         value_text(job.check.predicted_ns, ObjectiveUnit::nanoseconds) +
         " predicted for what took " +
         value_text(job.check.measured_ns, ObjectiveUnit::nanoseconds) + " (" +
         percent_text(std::abs(error)) + (error < 0 ? " too short)" : " too long)");
}

}  // namespace hocket
