#pragma once

// Notices a trial that delivered much less than the default: it may have died before its time where
// nobody looks at its exit status, as behind a pipe. Pure; thread-safe.

#include <optional>
#include <string>

#include "core/protocol/direction.h"
#include "core/protocol/trial_outcome.h"

namespace hocket {

/// Returns why a trial has failed that delivered fewer than half of the measurements of `first`,
/// the trial of the default. Nothing if one of them has none to be counted, if it was ended early,
/// or if it ran about as long as the default and is slower: it may be one that runs for a fixed
/// time.
std::optional<std::string> few_measurements(const TrialOutcome& first, const TrialOutcome& outcome,
                                            Direction direction);

}  // namespace hocket
