#pragma once

// The NCCL that has loaded the plugin. Any thread.

#include <string>

#include "plugins/nccl/interface/nccl_interface.h"

namespace hocket::nccl::abi {

struct LoadingNccl {
  std::string version;  ///< "2.28.9"; empty if it is not known
  std::string file;     ///< empty if it is not known
};

/// Returns the NCCL whose function `logger` is, since a process may hold several; without a logger
/// the one whose functions the process finds.
LoadingNccl loading_nccl(Logger logger);

}  // namespace hocket::nccl::abi
