#pragma once

// The plugin's options, from environment variables (docs/guides/nccl.md). Each communicator reads
// them once.

#include <string>

namespace hocket::nccl {

struct PluginOptions {
  bool is_off = false;
  bool is_reproducible = false;
  bool all_arms = false;
  /// Does not compare what it costs, nor step back.
  bool stays_on = false;
  double explore = 0.03;
  /// The variables that could not be read, and why, for the log; "" if all could.
  std::string problem;
};

using EnvironmentOf = const char* (*)(const char* name);

/// Reads HOCKET_NCCL, HOCKET_NCCL_REPRODUCIBLE, HOCKET_NCCL_ARMS, HOCKET_NCCL_STEP_BACK and
/// HOCKET_NCCL_EXPLORE. A value that cannot be read leaves the default.
PluginOptions read_options(EnvironmentOf environment);

}  // namespace hocket::nccl
