#pragma once

// What the user has set in the environment (docs/NCCL.md). Read once for a communicator.

#include <string>

namespace hocket::nccl {

struct PluginOptions {
  bool is_off = false;
  bool is_reproducible = false;
  bool all_arms = false;
  double explore = 0.03;
  /// What could not be read, for the log; "" if everything could.
  std::string problem;
};

using EnvironmentOf = const char* (*)(const char* name);

/// Reads HOCKET_NCCL, HOCKET_NCCL_REPRODUCIBLE, HOCKET_NCCL_ARMS and HOCKET_NCCL_EXPLORE. A value
/// that cannot be read leaves the default.
PluginOptions read_options(EnvironmentOf environment);

}  // namespace hocket::nccl
