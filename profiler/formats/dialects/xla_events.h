#pragma once

// Reads the trace of XLA's profiler (JAX's and TensorFlow's trace.json.gz): a process for each
// device, "/device:GPU:0", with lines of streams or of XLA's instructions, and one for the host.
// Pure.

#include <string_view>
#include <vector>

#include "core/trace/rank_trace.h"
#include "profiler/formats/chrome_events.h"
#include "profiler/formats/dialects/plain_events.h"
#include "profiler/formats/import_notes.h"

namespace hocket {

/// Returns whether events are XLA's. Requires names of places.
bool is_xla(const PlainEvents& events);

/// Returns a trace for each device of the file, in the order of their numbers, or one of the host
/// if it has no device. Kernels of streams are work; on devices without streams, such as TPUs, the
/// innermost instructions are, and an asynchronous collective lasts from its start to its done.
/// Steps are those that XLA found, else the ranges that StepTraceAnnotation marks, else as
/// KinetoEvents finds them. `head` and `step_range` are as in KinetoEvents::finish().
std::vector<RankTrace> xla_traces(const PlainEvents& events, const ChromeHead& head,
                                  std::string_view step_range, ImportNotes& notes);

}  // namespace hocket
