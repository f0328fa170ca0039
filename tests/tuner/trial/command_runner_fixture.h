#pragma once

// Runs commands as trials in a folder of the test's, for tests of tuner/trial/command_runner.h. One
// thread.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "tests/temporary_folder.h"
#include "tuner/trial/command_runner.h"

namespace hocket {

class CommandRunnerTest : public ::testing::Test {
 protected:
  CommandRunner shell(const std::string& script, const char* objective = "wall") {
    return make({"sh", "-c", script}, objective);
  }
  CommandRunner make(std::vector<std::string> command, const char* objective) {
    CommandOptions options;
    options.command = std::move(command);
    options.objective = parse_objective(objective).value();
    options.working_directory = folder_.path();
    options.skip = skip_;
    options.finds_warm_up = finds_warm_up_;
    for (const auto& other : others_)
      options.other_objectives.push_back(parse_objective(other).value());
    for (const auto& limit : limits_) options.limits.push_back(parse_limit(limit).value());
    options.time_limit_ns = time_limit_ns_;
    auto runner = CommandRunner::make(std::move(options), clock_, cancel_);
    EXPECT_TRUE(runner) << runner.error().message;
    return std::move(*runner);
  }
  TrialOutcome outcome(CommandRunner runner, const Params& params = {}) {
    auto result = runner.run(params, incumbent_);
    EXPECT_TRUE(result) << result.error().message;
    return result.value_or(TrialOutcome{});
  }

  TemporaryFolder folder_;
  SteadyClock clock_;
  CancelToken cancel_;
  std::size_t skip_ = 0;
  bool finds_warm_up_ = false;
  std::vector<std::string> limits_, others_;
  std::vector<double> incumbent_;
  std::optional<std::int64_t> time_limit_ns_;
};

}  // namespace hocket
