#pragma once

// Gives groups of ranks one name in all traces of a job. A rank names a group by its own count of
// groups, so ranks that made different numbers of groups have different names for one group. Pure.

#include <span>

#include "core/trace/rank_trace.h"

namespace hocket {

/// Renames groups so that those with the same ranks have the same name on every rank, as TraceGroup
/// requires; the name is that of the first trace. Names that all of a group's traces have stay.
/// Groups with the same ranks are told apart by the kinds and sizes of their collectives; where
/// these do not tell them apart, their names stay as they are. Groups that do not say their ranks,
/// and those of messages, stay as well.
void unify_group_names(std::span<RankTrace* const> traces);

}  // namespace hocket
