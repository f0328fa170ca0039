#pragma once

// Reads rows of the tables as values. Each function expects the columns of its table in the
// schema's order (SELECT *), to which a migration may only append. Values may come from a damaged
// file, so none is trusted. Not thread-safe.

#include "core/base/result.h"
#include "store/rows.h"
#include "store/sqlite/connection.h"

namespace hocket::sqlite {

Result<TopologyRow> read_topology(const Query& row);
Result<WorkloadRow> read_workload(const Query& row);
Result<StudyRow> read_study(const Query& row);
Result<TrialRow> read_trial(const Query& row);
Result<TrialOutput> read_trial_output(const Query& row);
Result<PromotionRow> read_promotion(const Query& row);
Result<QuarantineRow> read_quarantine(const Query& row);
Result<AuditRow> read_audit(const Query& row);
/// Reads a profile without its ranks.
Result<ProfileRow> read_profile(const Query& row);
Result<ProfileRank> read_profile_rank(const Query& row);
Result<ProfileIteration> read_profile_iteration(const Query& row);
Result<ProfileMetric> read_profile_metric(const Query& row);
Result<ProfileRequestRow> read_profile_request(const Query& row);

}  // namespace hocket::sqlite
