#pragma once

// The versions that were promoted for the program of a plain command. Thread-safe as far as the
// store is.

#include <span>
#include <string>
#include <vector>

#include "archive/promotions/stored_promotions.h"
#include "core/base/result.h"

namespace hocket {

/// Returns the current versions for the program of `command`, started in `working_directory`, on
/// hosts like `host`, or on any if it is null, for each set of parameters, the newest first.
/// Versions of earlier versions of hocket, whose key is the name of an interpreter, count by the
/// command of their study.
Result<std::vector<PromotedVersions>> promotions_of_program(Store& store,
                                                            std::span<const std::string> command,
                                                            const std::string& working_directory,
                                                            const Topology* host);

/// Returns the version that the study promoted, whether it is the current one of its key or not.
/// Errors say why there is none to use.
Result<PromotedVersions> promotion_of_study(Store& store, const std::string& study);

}  // namespace hocket
