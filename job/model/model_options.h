#pragma once

// Options of a job that trains a model of pure maths (models/), from a command line. For the thread
// of main().

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/graph/passes.h"
#include "job/network/job_network.h"
#include "job/run/device_options.h"
#include "job/run/run_options.h"
#include "models/models.h"

namespace CLI {
class App;
}

namespace hocket {

struct ModelJobOptions {
  std::string model = "gpt2";
  OptionValues values = {};   ///< of the model's options
  std::string workload = {};  ///< name under which configurations are kept
  std::string tokens = {};    ///< path of a file or a folder
  std::string weights = {}, save = {};
  std::uint64_t seed = 1;
  double rate = 5e-4;       ///< of learning
  std::int64_t slack = 32;  ///< operations by which memory stays
  std::string optimiser = "adamw";
  std::string precision = "float32";
  PassOptions passes = {.optimiser = {.weight_decay = 0.1}};
  bool shard_optimizer = false;    ///< keeps the states of an equal share on each rank
  bool update_on_servers = false;  ///< leaves the optimiser to the parameter servers
  bool json = false;
  DeviceOptions device = {};
  NetworkOptions network = {};
  RunOptions run = {};
};

/// Adds the flags of all such jobs: all but those that choose the model, its values and its tokens.
void add_model_job_flags(CLI::App& app, ModelJobOptions& options);

/// Returns invalid_argument for contradictory options.
Result<void> validate(const ModelJobOptions& options);

/// Returns what the passes do for a job of so many ranks. invalid_argument for an optimiser or a
/// precision that is none.
Result<PassOptions> passes_of(const ModelJobOptions& options, std::int64_t ranks);

}  // namespace hocket
