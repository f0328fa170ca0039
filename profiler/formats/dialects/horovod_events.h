#pragma once

// Reads Horovod's timeline (HOROVOD_TIMELINE), in which each tensor is a process: an event
// NEGOTIATE_ALLREDUCE lasts until all ranks are ready, with a tick for each rank that becomes
// ready, and an event ALLREDUCE holds what is done then. Pure.

#include <vector>

#include "core/trace/rank_trace.h"
#include "profiler/formats/dialects/plain_events.h"
#include "profiler/formats/import_notes.h"

namespace hocket {

/// Returns whether events are Horovod's. Requires names of places.
bool is_horovod(const PlainEvents& events);

/// Returns one trace for each rank if it is known when each was ready: its collectives begin there,
/// so that who is last and what the others wait for is measured as of other traces. Otherwise
/// returns the trace of the rank that wrote the file, with what is done after the negotiations. The
/// collectives are communication, named after their tensors; negotiations and activities within
/// collectives are ranges of rank 0. Steps are taken from the repetition of tensors. Notes say how
/// long negotiations took and who was ready last.
std::vector<RankTrace> horovod_traces(const PlainEvents& events, ImportNotes& notes);

}  // namespace hocket
