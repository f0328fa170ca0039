#pragma once

// The earlier study that a study starts from (docs/guides/transfer.md). One thread.
//
// A donor has finished, has the same parameters and the same objective, and values of settings that
// the study's space admits. A study that goes on as this one (StudyDefinition::goes_on) may be
// unfinished. Where a file of its command has changed since, or where it goes on with another
// command, its values say nothing about this job: only its best settings are tried.

#include <optional>
#include <string>
#include <vector>

#include "archive/studies/job_similarity.h"
#include "core/base/result.h"
#include "store/store.h"
#include "tuner/study/study.h"
#include "tuner/study/study_definition.h"

namespace hocket {

struct FoundDonor {
  Donor donor;             ///< adapted to the study's space
  std::string difference;  ///< between the two jobs, as people read it
  /// Why only its best settings are tried, and nothing else is taken from it; empty: all is.
  std::string caveat = {};
};

/// Returns the nearest study whose job is no further than kFarthestDonor from `job`. Studies that
/// cannot be read are passed over. Requires an objective that is not automatic.
Result<std::optional<FoundDonor>> nearest_donor(Store& store, const StudyDefinition& definition,
                                                const TunedJob& job);

/// Returns the study of that name or number, however far; an error says why it cannot be a donor.
/// An automatic objective of `definition` goes with report and wall. `command` is that of the
/// study that starts.
Result<FoundDonor> named_donor(Store& store, const std::string& study,
                               const StudyDefinition& definition, const TunedJob& job,
                               const std::vector<std::string>& command = {});

/// Returns the donor that the definition of study `study_id` wants, once the first trial has said
/// what the job is, and keeps it in that definition, so that resuming finds the same. Nothing where
/// no study is near, or where `first` leaves open what is minimised.
Result<std::optional<FoundDonor>> take_donor(Store& store, std::int64_t study_id,
                                             const Trial& first);

}  // namespace hocket
