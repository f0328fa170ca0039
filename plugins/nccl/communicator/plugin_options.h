#pragma once

// The plugin's options, from environment variables (docs/guides/nccl.md). Each communicator reads
// them once.

#include <string>

namespace hocket::nccl {

struct PluginOptions {
  bool is_off = false;
  bool is_reproducible = false;
  bool all_arms = false;
  bool may_share_gpu = false;
  double explore = 0.03;
  /// The variables that could not be read, and why, for the log; "" if all could.
  std::string problem;
};

using EnvironmentOf = const char* (*)(const char* name);

/// Reads HOCKET_NCCL, HOCKET_NCCL_REPRODUCIBLE, HOCKET_NCCL_ARMS, HOCKET_NCCL_SHARED_GPU and
/// HOCKET_NCCL_EXPLORE. A value that cannot be read leaves the default.
PluginOptions read_options(EnvironmentOf environment);

}  // namespace hocket::nccl
