#pragma once

// Which earlier study a sweep starts from (docs/TRANSFER.md). One thread.
//
// One that has finished, with the same parameters and the same objective, and with values of
// settings that the sweep's space admits.

#include <optional>
#include <string>

#include "core/result.h"
#include "store/store.h"
#include "tuner/similarity.h"
#include "tuner/study.h"
#include "tuner/study_definition.h"

namespace hocket {

struct FoundDonor {
  Donor donor;             ///< adapted to the sweep's space
  std::string difference;  ///< between the two jobs, for people
};

/// The nearest study whose job is no further than kFarthestDonor from `job`. Studies that cannot be
/// read are passed over. The objective of `definition` is not automatic.
Result<std::optional<FoundDonor>> nearest_donor(Store& store, const StudyDefinition& definition,
                                                const TunedJob& job);

/// The study of that name or number, however far; an error says why a sweep cannot start from it.
/// An automatic objective of `definition` goes with report and wall.
Result<FoundDonor> named_donor(Store& store, const std::string& study,
                               const StudyDefinition& definition, const TunedJob& job);

/// What the sweep of study `study_id` starts from, as its definition wants it, once its first trial
/// has said what the job is; kept in that definition, so that resuming finds the same. Nothing
/// where no study is near, or where `first` leaves open what is minimised.
Result<std::optional<FoundDonor>> take_donor(Store& store, std::int64_t study_id,
                                             const FinishedTrial& first);

}  // namespace hocket
