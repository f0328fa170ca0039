#pragma once

// Reads rows of the tables as values. Each function expects the columns of its table in the
// schema's order (SELECT *), to which a migration may only append. Values may come from a damaged
// store, so none is trusted. Not thread-safe.

#include "core/base/result.h"
#include "store/rows.h"
#include "store/sql/database.h"

namespace hocket::sql {

Result<TopologyRow> read_topology(const Rows& row);
Result<WorkloadRow> read_workload(const Rows& row);
Result<StudyRow> read_study(const Rows& row);
Result<TrialRow> read_trial(const Rows& row);
Result<WorkerRow> read_worker(const Rows& row);
Result<TrialOutput> read_trial_output(const Rows& row);
Result<PromotionRow> read_promotion(const Rows& row);
Result<QuarantineRow> read_quarantine(const Rows& row);
Result<AuditRow> read_audit(const Rows& row);
/// Reads a profile without its ranks.
Result<ProfileRow> read_profile(const Rows& row);
Result<ProfileRank> read_profile_rank(const Rows& row);
Result<ProfileIteration> read_profile_iteration(const Rows& row);
Result<ProfileMetric> read_profile_metric(const Rows& row);
Result<ProfileRequestRow> read_profile_request(const Rows& row);

}  // namespace hocket::sql
