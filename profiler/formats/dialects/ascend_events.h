#pragma once

// Reads the events of Ascend's profiler (trace_view.json), which has a process for each layer:
// "Ascend Hardware" with the tasks of streams, "Communication" (earlier "HCCL") with the
// collectives of groups and the tasks that they consist of, and others for the host. Pure.

#include "profiler/formats/dialects/plain_events.h"
#include "profiler/formats/import_notes.h"
#include "profiler/formats/kineto_events.h"

namespace hocket {

/// Returns whether events are Ascend's. Requires names of places.
bool is_ascend(const PlainEvents& events);

/// Gives the events the categories of Kineto. Leaves out and counts what repeats other events: the
/// layer "Overlap Analysis" and the tasks of collectives; and the waits and marks of streams.
void take_ascend(const PlainEvents& events, KinetoEvents& kineto, ImportNotes& notes);

}  // namespace hocket
