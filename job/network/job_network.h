#pragma once

// Connects the ranks of the job: by collectives and to the job's parameter servers, both over
// emulated links if the options ask for that. One thread uses it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/collective/parameter_servers.h"
#include "core/description/step_description.h"
#include "core/host/emulated_link.h"
#include "core/step/link.h"

namespace hocket {

struct NetworkOptions {
  std::string link = {};         ///< emulated between ranks: RATE[,LATENCY]; empty: none
  std::string server_link = {};  ///< emulated to each parameter server; empty: as `link`
  /// Parameter server s is on the host of rank s modulo the ranks, and shares its emulated link.
  bool colocated_servers = false;
  std::int64_t timeout_seconds = 30;  ///< time after which a silent rank counts as gone
};

/// Returns invalid_argument for links of servers that nothing would emulate.
Result<void> validate(const NetworkOptions& options);

class JobNetwork {
 public:
  Collective& collective() const {
    return emulation_ ? static_cast<Collective&>(*emulation_) : *sockets_;
  }
  /// Returns null if the job has no parameter servers.
  ParameterServers* servers() const { return servers_.get(); }
  /// Link between ranks, for collectives.
  const std::optional<LinkSpec>& emulated_link() const { return emulated_link_; }
  /// Links to the parameter servers, if the job has both servers and an emulated link.
  const std::optional<StepServers>& emulated_server_links() const { return emulated_server_links_; }
  int local_rank() const { return local_rank_; }
  /// Returns what a topology says of the connection.
  std::string name() const;

 private:
  friend Result<JobNetwork> connect_job(const NetworkOptions& options, const Clock& clock);

  std::unique_ptr<Collective> sockets_;
  std::optional<LinkSpec> emulated_link_;
  std::unique_ptr<EmulatedLink> emulation_;
  std::unique_ptr<ParameterServers> servers_;
  std::optional<StepServers> emulated_server_links_;
  int local_rank_ = 0;
};

/// Connects this rank to the others, and to the parameter servers if its launcher names some. Every
/// rank must call it. `clock` must outlive the network.
Result<JobNetwork> connect_job(const NetworkOptions& options, const Clock& clock);

}  // namespace hocket
