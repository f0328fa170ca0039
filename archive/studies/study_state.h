#pragma once

// The state of a study as people read it. Pure; thread-safe.

#include <string_view>

#include "store/rows.h"

namespace hocket {

/// Returns "running", "finished" or "interrupted"; "paused" for the search of a job whose job has
/// ended before the search had, since the next job of its key goes on with it.
std::string_view shown_state(const StudyRow& study);

}  // namespace hocket
