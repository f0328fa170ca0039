#pragma once

// Where `hocket simulate` gets its step from: a description, and what the command line changes in
// it. One thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/step/step_description.h"
#include "profiler/archive/calibrate_profile.h"

namespace hocket {

/// The description in the file `path`, or on standard input when that is "-". Errors begin with the
/// file's name; one that cannot be read is invalid_argument.
Result<StepDescription> read_step(const std::string& path);

/// What a command line sets in a description; what is empty stays.
struct StepChanges {
  std::optional<std::int64_t> ranks, ranks_per_host, seed;
  std::vector<std::string> links;  ///< "host=10gbit,20us" or "network=…"
  std::optional<CollectiveAlgorithm> algorithm;
};

/// The step of a measured job with the changes: with other ranks or links, the links that were
/// measured stand in for those that are not given. invalid_argument names a tier for which there is
/// none.
Result<StepDescription> change_measured_step(const Calibration& calibration,
                                             const StepChanges& changes);

/// Makes the changes; the result is valid. invalid_argument also when ranks use a tier for which
/// there is no link.
Result<void> change_step(StepDescription& step, const StepChanges& changes);

}  // namespace hocket
