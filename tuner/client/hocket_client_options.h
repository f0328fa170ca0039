#pragma once

// What a C program says when it opens a client (tuner/client/hocket_client.h), checked.
// Thread-safe.

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/schedule_config.h"
#include "core/topology.h"
#include "core/workload.h"
#include "tuner/client/hocket_client.h"

namespace hocket {

struct ClientOptions {
  int rank = 0;
  Topology topology = {};
  Workload workload = {};      ///< rank 0's
  ScheduleConfig config = {};  ///< of a rank above 0: what rank 0 told it
  std::vector<std::string> knobs = {};
  double explore = 0;
  /// Empty when the program cannot be profiled.
  std::function<void(std::int64_t first_step, std::int64_t steps)> on_profile = {};
  std::function<void(const std::string&)> warn = {}, say = {};  ///< never empty
};

/// invalid_argument names the option that is wrong.
Result<ClientOptions> read_options(const hocket_client_options* given);

/// JSON whose strings may be of any bytes.
std::string text_of(const nlohmann::json& document);

}  // namespace hocket
