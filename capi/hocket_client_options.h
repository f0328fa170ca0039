#pragma once

// Validates the options of a C program that opens a client (capi/hocket_client.h).
// Thread-safe.

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "capi/hocket_client.h"
#include "core/base/result.h"
#include "core/protocol/job_message.h"
#include "core/protocol/runnable_values.h"
#include "core/protocol/topology.h"
#include "core/protocol/workload.h"
#include "core/step/declared_knob.h"
#include "core/step/schedule_config.h"

namespace hocket {

struct ClientOptions {
  int rank = 0;
  Topology topology = {};
  Workload workload = {};      ///< the workload; rank 0 only
  ScheduleConfig config = {};  ///< on a rank above 0: the configuration that rank 0 sent
  /// Names of all knobs that can change while the program runs.
  std::vector<std::string> knobs = {};
  std::vector<DeclaredKnob> own_knobs = {};
  /// As the program says it, with its own knobs, and without order=static while it runs, for which
  /// the library has no order.
  RunnableValues can_run = {};
  double explore = 0;
  /// Empty when the program accepts everything that it says it can run.
  std::function<Result<void>(const ScheduleConfig&)> accept = {};
  /// Empty when the program cannot be profiled.
  std::function<void(std::int64_t first_step, std::int64_t steps)> on_profile = {};
  bool decides_alone = false;
  std::vector<PredictedTime> predictions = {};
  std::function<bool()> may_try = {};                           ///< empty: always
  std::function<void(const std::string&)> warn = {}, say = {};  ///< never empty
};

/// Returns the validated options, or invalid_argument with the name of the invalid option.
Result<ClientOptions> read_options(const hocket_client_options* given);

/// JSON whose strings may be of any bytes.
std::string text_of(const nlohmann::json& document);

}  // namespace hocket
