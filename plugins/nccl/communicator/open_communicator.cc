// The plugin's communicators as they are in a job: links by sockets, jobs by the client library.

#include <dirent.h>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include "plugins/nccl/abi/log.h"
#include "plugins/nccl/abi/nccl_version.h"
#include "plugins/nccl/communicator/communicator.h"
#include "plugins/nccl/communicator/current_device.h"
#include "plugins/nccl/control/daemon_rendezvous.h"
#include "plugins/nccl/control/library_clients.h"
#include "plugins/nccl/transport/socket_links.h"
#include "plugins/nccl/transport/steady_time.h"

namespace hocket::nccl {
namespace {

const char* environment_of(const char* name) {
  return std::getenv(name);
}

/// Returns the model of the host's first GPU, as its driver says it; "" without one.
std::string model_of_gpu() {
  const std::string folder = "/proc/driver/nvidia/gpus";
  DIR* directory = opendir(folder.c_str());
  if (directory == nullptr) return "";
  std::string model;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] == '.') continue;
    std::FILE* file = std::fopen((folder + "/" + entry->d_name + "/information").c_str(), "re");
    if (file == nullptr) continue;
    char line[256];
    while (model.empty() && std::fgets(line, sizeof line, file) != nullptr) {
      const std::string text = line;
      if (text.rfind("Model:", 0) != 0) continue;
      const std::size_t begin = text.find_first_not_of(" \t", 6);
      if (begin != std::string::npos) model = text.substr(begin, text.find('\n') - begin);
    }
    std::fclose(file);
    if (!model.empty()) break;
  }
  closedir(directory);
  return model;
}

CommunicatorCalls* make_communicator(const CommunicatorIdentity& identity,
                                     const PluginOptions& options, Logger logger,
                                     measure::CollectiveMeter* meter) {
  const auto say = [logger](const std::string& line) {
    abi::log_line(logger, abi::kLogInfo, "hocket: %s", line.c_str());
  };
  CommunicatorParts parts;
  if (identity.nodes > 1) parts.rendezvous = std::make_unique<DaemonRendezvous>(say);
  parts.links = std::make_unique<SocketLinks>(
      SocketLinksOptions{.rank = static_cast<std::uint32_t>(identity.rank),
                         .ranks = static_cast<std::uint32_t>(identity.ranks),
                         .comm_id = identity.comm_id,
                         .rendezvous = parts.rendezvous.get()});
  parts.now_ns = steady_ns;
  parts.say = say;
  if (!options.stays_on) parts.device = current_device(driver_functions());
  if (identity.rank == 0) {
    parts.clients = std::make_unique<LibraryClients>(
        LibraryClientsOptions{.nccl_version = abi::loading_nccl(logger).version,
                              .accelerator = model_of_gpu(),
                              .say = say});
  }
  return new Communicator(identity, options, meter, std::move(parts));
}

}  // namespace

CommunicatorCalls* open_communicator(const CommunicatorIdentity& identity, Logger logger,
                                     measure::CollectiveMeter* meter) {
  const PluginOptions options = read_options(environment_of);
  if (options.is_off || identity.ranks < 2) return nullptr;
  if (identity.rank < 0 || identity.comm_id == 0) {
    abi::log_line(
        logger, abi::kLogWarning,
        "hocket: NCCL is left alone: set NCCL_PROFILER_PLUGIN=hocket as well as "
        "NCCL_TUNER_PLUGIN=hocket, since the tuner alone does not know its rank; "
        "libnccl-profiler-hocket.so must be that beside libnccl-tuner-hocket.so, no copy");
    return nullptr;
  }
  if (!options.problem.empty() && identity.rank == 0)
    abi::log_line(logger, abi::kLogWarning, "hocket: %s", options.problem.c_str());
  // An exception must not reach NCCL, which knows none.
  try {
    return make_communicator(identity, options, logger, meter);
  } catch (const std::exception& error) {
    abi::log_line(logger, abi::kLogWarning, "hocket: NCCL is left alone: %s", error.what());
    return nullptr;
  }
}

}  // namespace hocket::nccl
