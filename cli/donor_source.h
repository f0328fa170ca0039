#pragma once

// Which earlier study a sweep starts from (docs/guides/transfer.md). One thread.
//
// A donor has finished, has the same parameters and objective, and has values for settings that the
// sweep's space admits.

#include <optional>
#include <string>

#include "core/base/result.h"
#include "store/store.h"
#include "tuner/archive/job_similarity.h"
#include "tuner/study/study.h"
#include "tuner/study/study_definition.h"

namespace hocket {

struct FoundDonor {
  Donor donor;             ///< adapted to the sweep's space
  std::string difference;  ///< difference between the two jobs, for the user
};

/// Returns the nearest study whose job is within kFarthestDonor of `job`, or nothing. Skips studies
/// that cannot be read. Requires that the objective of `definition` is not automatic.
Result<std::optional<FoundDonor>> nearest_donor(Store& store, const StudyDefinition& definition,
                                                const TunedJob& job);

/// Returns the study with that name or number, at any distance. The error explains why a sweep
/// cannot start from it. An automatic objective of `definition` matches report and wall.
Result<FoundDonor> named_donor(Store& store, const std::string& study,
                               const StudyDefinition& definition, const TunedJob& job);

/// Returns the donor for the sweep of study `study_id` as its definition requests it, once the
/// first trial has described the job. Stores the choice in the definition, so that a resumed sweep
/// uses the same donor. Returns nothing if no study is near, or if `first` does not determine the
/// objective.
Result<std::optional<FoundDonor>> take_donor(Store& store, std::int64_t study_id,
                                             const FinishedTrial& first);

}  // namespace hocket
