#pragma once

// The setting that an unfinished study recommends of what it has measured; nothing has confirmed it
// yet. Thread-safe as far as the store is.

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "store/store.h"
#include "tuner/study/study.h"
#include "tuner/study/study_definition.h"

namespace hocket {

struct InterimStudy {
  std::string study;           ///< name
  StudyDefinition definition;  ///< its objective as far as the trials have shown it
  StudyResult result = {};
  std::int64_t searched = 0;  ///< trials of the search that have ended
};

/// Reads a study of `hocket tune`. not_found if no trial of it has ended; invalid_argument for
/// what run_study() refuses.
Result<InterimStudy> interim_study(Store& store, const StudyRow& study);

/// Returns whether it has a setting to recommend other than the default.
bool has_recommendation(const InterimStudy& study);

/// Returns the command that confirms and promotes what the study recommends, or goes on with its
/// search where it recommends nothing; `store_argument` is " --store STORE" or empty.
std::string going_on_command(const InterimStudy& study, const std::string& store_argument);

}  // namespace hocket
