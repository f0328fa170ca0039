#pragma once

// The example as a job of two processes over TCP, started as a user would.

#include <map>
#include <string>
#include <vector>

#include "core/clock.h"
#include "tuner/cancel.h"
#include "tuner/process.h"

namespace hocket {

inline ProcessResult run_job(const std::vector<std::string>& arguments,
                             std::map<std::string, std::string> environment = {}) {
  const SteadyClock clock;
  const CancelToken cancel;
  ProcessOptions options;
  options.argv = {HOCKET_BIN "/hocket", "run", "--ranks", "2", "--", HOCKET_BIN "/gpt2"};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  // A store or a daemon of the machine's user must not change what the test sees.
  options.environment = {{"HOCKET_STORE", "/nonexistent/hocket.db"}, {"HOCKET_DAEMON", ""}};
  for (const auto& [name, value] : environment) options.environment[name] = value;
  options.time_limit_ns = 100'000'000'000;
  return run_process(options, clock, cancel).value();
}

}  // namespace hocket
