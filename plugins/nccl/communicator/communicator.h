#pragma once

// A communicator: counts NCCL's calls, applies the setting that the ranks have agreed on, measures
// while that setting says so, and on rank 0 has the control beside it.
//
// decide() takes no lock, allocates nothing and waits nowhere but at gates (agreement/protocol.h).
// Threads: the agreement's (communicator/rank_agreement.h) and on rank 0 the control's. Both end in
// closed().

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "plugins/nccl/abi/plugin_calls.h"
#include "plugins/nccl/communicator/plugin_cost.h"
#include "plugins/nccl/communicator/plugin_options.h"
#include "plugins/nccl/communicator/rank_agreement.h"
#include "plugins/nccl/control/call_log.h"
#include "plugins/nccl/control/class_tuning.h"
#include "plugins/nccl/control/job_client.h"
#include "plugins/nccl/control/rank_device.h"
#include "plugins/nccl/control/table_board.h"
#include "plugins/nccl/transport/rendezvous.h"

namespace hocket::nccl {

/// The links, jobs and clock of a communicator; tests give it their own.
struct CommunicatorParts {
  std::unique_ptr<Rendezvous> rendezvous =
      nullptr;  ///< used by the links if there are several hosts
  std::unique_ptr<Links> links = nullptr;
  std::unique_ptr<JobClients> clients = nullptr;  ///< on rank 0
  std::int64_t (*now_ns)() = nullptr;
  std::optional<DeviceId> device = std::nullopt;  ///< of this rank, if known
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

class Communicator final : public CommunicatorCalls {
 public:
  Communicator(const CommunicatorIdentity& identity, const PluginOptions& options,
               measure::CollectiveMeter* meter, CommunicatorParts parts);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  void decide(const CollectiveCall& call, CostTable table, int* channels) override;
  /// Deletes the communicator.
  void closed() override;

 private:
  class ControlThread;

  ~Communicator();
  void count_and_choose(const CollectiveCall& call, CostTable table, int* channels,
                        std::uint64_t number);
  void take_over(const SettingInForce& in_force);

  const std::unique_ptr<Rendezvous> rendezvous_;
  measure::CollectiveMeter* const meter_;
  std::int64_t (*const now_ns_)();
  std::uint64_t digest_;
  // Used only by the thread that calls NCCL:
  Setting setting_;  // in force
  PluginCost cost_;
  const std::function<void(const std::string&)> say_;
  RankAgreement agreement_;
  std::unique_ptr<ControlThread> control_;  // on rank 0
};

}  // namespace hocket::nccl
