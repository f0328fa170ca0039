#pragma once

// The job of a stored study: what it ran on and what it ran; and how errors of a store count that
// somebody named. Thread-safe as far as the store is.

#include "core/base/result.h"
#include "core/protocol/topology.h"
#include "core/protocol/workload.h"
#include "store/store.h"

namespace hocket {

/// Returns the topology or workload of a study. not_found for a study that has none, since
/// `hocket tune` did not make it.
Result<Topology> topology_of(Store& store, const StudyRow& study);
Result<Workload> workload_of(Store& store, const StudyRow& study);

/// Turns `unavailable` into `invalid_argument`: a store that cannot be used is bad input, whatever
/// the reason, because somebody named it.
Error as_bad_input(Error error);

}  // namespace hocket
