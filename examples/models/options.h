#pragma once

// Options of the program train_model, from its arguments and the environment. For the thread of
// main().

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/passes.h"
#include "job/network/job_network.h"
#include "job/run/run_options.h"
#include "models/models.h"

namespace hocket {

struct TrainOptions {
  std::string model = "gpt2", preset = {};
  std::vector<std::string> values;  ///< "layers=2"
  std::string tokens;               ///< path of a file or a folder
  std::string weights = {}, save = {};
  std::uint64_t seed = 1;
  double rate = 5e-4;
  std::int64_t slack = 32;  ///< operations by which memory stays
  std::string optimiser = "adamw";
  PassOptions passes;
  bool json = false;
  NetworkOptions network;
  RunOptions run{.program = "train_model"};
};

/// Parses the arguments. Returns the exit status when the program should end: 0 after --help, 2 for
/// invalid arguments; both print a message.
std::optional<int> parse_arguments(int argc, char** argv, TrainOptions& options);

/// Returns the values of the model's options: those of the preset, and those that were given.
/// invalid_argument for names and values that are none.
Result<OptionValues> read_values(const Model& model, const TrainOptions& options);

/// Returns what the passes do for a job of so many ranks. invalid_argument for an optimiser that is
/// none.
Result<PassOptions> read_passes(const TrainOptions& options, std::int64_t ranks);

}  // namespace hocket
