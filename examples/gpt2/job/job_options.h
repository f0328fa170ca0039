#pragma once

// Options of the gpt2 program, from its arguments and the environment. For the thread of main().

#include <optional>
#include <string>

#include "core/base/result.h"
#include "examples/gpt2/model/config.h"
#include "job/network/job_network.h"
#include "job/run/device_options.h"
#include "job/run/run_options.h"

namespace hocket {

struct JobOptions {
  Gpt2Config model{.layers = 6};
  /// Without `steps` and `memory_limit_bytes`, which `run` and `device` have.
  TrainingOptions training;
  std::string text;  ///< path of a file or a folder
  std::string precision = "float32";
  bool json = false;
  DeviceOptions device;
  NetworkOptions network;
  RunOptions run{.program = "gpt2"};
};

/// Parses the arguments. Returns the exit status when the program should end: 0 after --help, 2 for
/// invalid arguments; both print a message.
std::optional<int> parse_arguments(int argc, char** argv, JobOptions& options);

/// Returns invalid_argument for contradictory options.
Result<void> validate(const JobOptions& options);

}  // namespace hocket
