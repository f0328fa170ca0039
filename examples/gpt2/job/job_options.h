#pragma once

// What the gpt2 program was asked to do: its arguments, with what the environment adds.

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "examples/gpt2/model/config.h"
#include "profiler/session/profile_session.h"

namespace hocket {

struct JobOptions {
  Gpt2Config model{.layers = 6};
  TrainingOptions training{.steps = 20};
  std::int64_t warmup = 3;
  std::string device = "host", precision = "float32";
  std::string text;  ///< a file or a folder
  std::string link;
  std::int64_t timeout_seconds = 30;
  bool json = false;
  std::string profile;
  std::string step;  ///< a file; empty: none
  std::string record;
  bool watch = false;
  double explore = 0.03;  ///< share of the time
  bool profile_on_request = false;
  std::string profile_level = "L1";  ///< of a device
  /// What --profile-at and those beside it say; without a first step HOCKET_PROFILE does.
  ProfileSpan profiled{.first_step = -1, .steps = 10, .interleave = 0};
};

/// The exit status when there is nothing more to do: 0 after --help, 2 for arguments that were
/// refused, both said.
std::optional<int> parse_arguments(int argc, char** argv, JobOptions& options);

/// invalid_argument for what contradicts itself.
Result<void> validate(const JobOptions& options);

/// Whether every step has a ballot.
bool is_live(const JobOptions& options);

/// Whether the job can be profiled on request. A recorded one has no observer to spare.
bool takes_requests(const JobOptions& options);

/// What is recorded of a device; empty where nothing can be profiled.
std::string level_to_profile(const JobOptions& options);

}  // namespace hocket
