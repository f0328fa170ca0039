#pragma once

// The interface of a communicator to the plugin, independent of the version in which NCCL calls it.
// A communicator implements it; the plugin behind the tables of all versions calls it.

#include <cstdint>

#include "plugins/nccl/interface/nccl_interface.h"
#include "plugins/nccl/measure/collective_meter.h"
#include "plugins/nccl/tuning/cost_table.h"

namespace hocket::nccl {

using abi::Logger;

/// A collective for which NCCL asks. One call may stand for several operations that NCCL has put
/// together.
struct CollectiveCall {
  int function = 0;
  /// For all-gather and reduce-scatter the size of the whole buffer.
  std::uint64_t bytes = 0;
  int operations = 0;
  bool is_registered = false;
};

struct CommunicatorIdentity {
  std::uint64_t comm_id = 0;  ///< equal on all ranks; 0: not known
  int rank = -1;              ///< -1: not known, because the profiler is not loaded
  int ranks = 0, nodes = 0;
  char name[64] = {};  ///< cut off, ends in a zero; may be empty
};

/// One per communicator, for the tuner and the profiler together.
class CommunicatorCalls {
 public:
  /// Chooses by writing to the table and to `*channels`, which is 0 for NCCL's default. What NCCL
  /// would take from the table before that is the default: its own choice, or the chained tuner's.
  /// Called by NCCL's threads, one at a time, between open_communicator() and closed(). Must not
  /// wait. Not called if the rank is not known.
  virtual void decide(const CollectiveCall& call, CostTable table, int* channels) = 0;

  /// The last call. The meter must not be used after it returns, and the library's code by no
  /// thread that this communicator has started.
  virtual void closed() = 0;

 protected:
  ~CommunicatorCalls() = default;
};

/// Called when NCCL has opened the communicator's profiler, or its tuner if that has no profiler.
/// Any thread. `meter` has the communicator's launches and times; it is null if too many
/// communicators are open. `logger` may be null. Returns null to leave the communicator alone; it
/// is then only counted. Defined by the communicators (plugins/nccl/communicator/communicator.h).
CommunicatorCalls* open_communicator(const CommunicatorIdentity& identity, Logger logger,
                                     measure::CollectiveMeter* meter);

}  // namespace hocket::nccl
