#pragma once

// Sends rank 0's order of collectives to the other ranks while they run
// (core/scheduler/order_source.h). Each function runs on a thread of its own and returns when the
// order has ended or the source has failed.

#include "core/collective/collective.h"
#include "core/scheduler/order_source.h"

namespace hocket {

/// Runs on rank 0: sends the collectives that have started, and periodically an empty message as a
/// heartbeat.
void send_order(OrderSource& source, Collective& collective);

/// Runs on the other ranks: passes on to the source the order received from rank 0.
void follow_order(OrderSource& source, Collective& collective);

}  // namespace hocket
