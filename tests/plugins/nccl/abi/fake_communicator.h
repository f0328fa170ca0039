#pragma once

// A communicator that records what it is asked and chooses what it is told. Defines
// open_communicator() for the tests of the tables. Thread-safe but for the public fields of a
// communicator, which belong to the thread that calls it.

#include <functional>
#include <memory>
#include <vector>

#include "plugins/nccl/abi/plugin_calls.h"

namespace hocket::nccl {

class FakeCommunicator final : public CommunicatorCalls {
 public:
  void decide(const CollectiveCall& call, CostTable table, int* channels) override {
    calls.push_back(call);
    if (on_decide) on_decide(table, channels);
  }
  void closed() override {
    ++times_closed;
    if (on_closed) on_closed();
  }

  CommunicatorIdentity identity;
  measure::CollectiveMeter* meter = nullptr;
  std::vector<CollectiveCall> calls;
  int times_closed = 0;
  std::function<void(CostTable, int*)> on_decide;
  std::function<void()> on_closed;
};

/// Communicators in the order in which they were opened since forget_communicators().
std::vector<std::shared_ptr<FakeCommunicator>> opened_communicators();
/// Forgets the communicators: open ones are kept for the plugin but not listed any more.
void forget_communicators();
/// Sets whether open_communicator() returns null.
void leave_communicators_alone(bool is_left_alone);

/// Has the collectives timed that this thread launches, as a communicator does after a call.
inline void time_collectives(measure::CollectiveMeter* meter) {
  meter->called();
  meter->ask_for(Events::timed);
}
/// Number of the first collective that is timed.
inline constexpr std::uint64_t kFirstNumber = std::uint64_t{1} << 40;

}  // namespace hocket::nccl
