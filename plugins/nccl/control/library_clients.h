#pragma once

// Jobs by hocket's client library (client_library.h), which is opened when the first one is needed.
// One thread.

#include <functional>
#include <memory>
#include <string>

#include "plugins/nccl/control/job_client.h"

namespace hocket::nccl {

struct LibraryClientsOptions {
  std::string nccl_version = {};  ///< "2.28.9"; "" if it is not known
  std::string accelerator = {};   ///< "NVIDIA H100 80GB HBM3"; "" if it is not known
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

struct ClientLibrary;

class LibraryClients final : public JobClients {
 public:
  explicit LibraryClients(LibraryClientsOptions options);

  /// Returns null, after saying why, if there is no library.
  std::unique_ptr<JobClient> open(const ClassJob& job) override;

 private:
  const LibraryClientsOptions options_;
  const ClientLibrary* library_ = nullptr;  // the process's; never closed
  bool has_tried_ = false;
  std::string host_;  // what the library says of this host
};

/// Returns the name of a class's job: "nccl all_reduce 4MiB".
std::string workload_name(const CollectiveClass& of);

/// Returns the topology as the client takes it: what changes the times of NCCL's collectives.
/// `host`: this host's members of it, as hocket_client_host() returns them; "" if the library
/// cannot say them, and the hardware is then unknown.
std::string topology_json(const ClassJob& job, const LibraryClientsOptions& options,
                          const std::string& host);

}  // namespace hocket::nccl
