#pragma once

// Runs the example as a job, started as a user would. Any thread.

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "tuner/trial/cancel.h"
#include "tuner/trial/process.h"

namespace hocket {

/// Returns the path of a program that lies beside the test's, wherever both are.
inline std::string program(const char* name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name).string();
}

inline ProcessResult run_command(std::vector<std::string> command,
                                 const std::vector<std::string>& arguments,
                                 const std::map<std::string, std::string>& environment) {
  const SteadyClock clock;
  const CancelToken cancel;
  ProcessOptions options;
  options.argv = std::move(command);
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  // The user's own store or daemon must not affect the test.
  options.environment = {{"HOCKET_STORE", "/nonexistent/hocket.db"}, {"HOCKET_DAEMON", ""}};
  for (const auto& [name, value] : environment) options.environment[name] = value;
  options.time_limit_ns = 100'000'000'000;
  return run_process(options, clock, cancel).value();
}

/// Runs two processes over TCP.
inline ProcessResult run_job(const std::vector<std::string>& arguments,
                             const std::map<std::string, std::string>& environment = {}) {
  return run_command({program("hocket"), "run", "--ranks", "2", "--", program("gpt2")}, arguments,
                     environment);
}

/// Runs one process.
inline ProcessResult run_alone(const std::vector<std::string>& arguments,
                               const std::map<std::string, std::string>& environment = {}) {
  return run_command({program("gpt2")}, arguments, environment);
}

}  // namespace hocket
