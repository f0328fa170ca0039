#pragma once

// How rank 0's order of collectives reaches the other ranks while they run
// (WorkSource::order_is_announced()). Each function is the work of one thread, and returns when the
// order has ended or the source has failed.

#include "core/collective/collective.h"
#include "core/scheduler/executor.h"

namespace hocket {

/// On rank 0: tells what has started, and now and then nothing, as a sign of life.
void send_order(WorkSource& source, Collective& collective);

/// On the others: announces what rank 0 tells.
void follow_order(WorkSource& source, Collective& collective);

}  // namespace hocket
