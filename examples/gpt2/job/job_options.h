#pragma once

// Options of the gpt2 program, from its arguments and the environment. For the thread of main().

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "examples/gpt2/model/config.h"
#include "job/network/job_network.h"
#include "profiler/session/profile_session.h"

namespace hocket {

struct JobOptions {
  Gpt2Config model{.layers = 6};
  TrainingOptions training{.steps = 20};
  std::int64_t warmup = 3;
  std::string device = "host", precision = "float32";
  /// As parse_offload_k() parses it; empty: not given, which is "configured".
  std::string offload_k = {};
  std::string text;  ///< a file or a folder
  NetworkOptions network;
  bool json = false;
  std::string profile;
  std::string step;  ///< a file; empty: none
  std::string record;
  bool watch = false;
  double explore = 0.03;  ///< share of training time
  bool profile_on_request = false;
  std::string profile_level = "L1";  ///< level for a device
  /// Span from --profile-at and its companion options; without a first step, HOCKET_PROFILE
  /// applies.
  ProfileSpan profiled{.first_step = -1, .steps = 10, .interleave = 0};
};

/// Parses the arguments. Returns the exit status when the program should end: 0 after --help, 2 for
/// invalid arguments; both print a message.
std::optional<int> parse_arguments(int argc, char** argv, JobOptions& options);

/// Returns invalid_argument for contradictory options.
Result<void> validate(const JobOptions& options);

/// Returns the number of steps by which --offload-k auto decides.
std::int64_t steps_to_measure(const JobOptions& options);

/// Returns whether steps are placed on a device of limited memory and its host: on an emulated
/// device, and on a CUDA device with --offload-k and --memory-limit.
bool is_placed(const JobOptions& options);

/// Returns whether the job trains on a CUDA device.
bool is_on_cuda(const JobOptions& options);

/// Returns whether every step has a ballot.
bool is_live(const JobOptions& options);

/// Returns whether the job can be profiled on request. A recorded job cannot, since --record takes
/// the scheduler's only observer.
bool takes_requests(const JobOptions& options);

/// Returns the level at which a device is profiled; empty when nothing can be profiled.
std::string level_to_profile(const JobOptions& options);

}  // namespace hocket
