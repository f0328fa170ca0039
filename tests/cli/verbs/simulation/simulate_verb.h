#pragma once

// Asks `hocket simulate` about a small step. For one thread.

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/answer.h"
#include "tests/temporary_folder.h"

namespace hocket {

/// Communication (4.2 ms) hides behind computation (6 ms) only when the first layers go first.
inline constexpr const char* kSmallSimulatedStep =
    R"({"format":"hocket-step","version":1,"name":"small",
        "layers":[{"name":"in","parameter_bytes":1000000,"forward_ns":500000,"backward_ns":1000000},
                  {"name":"mid \"x\"","parameter_bytes":4000000,"forward_ns":500000,
                   "backward_ns":1000000},
                  {"name":"out","parameter_bytes":16000000,"forward_ns":1000000,
                   "backward_ns":2000000}],
        "collective":{"alpha_ns":40000,"beta_ns_per_byte":0.2,"latency_ns":100000}})";

class SimulateVerb : public ::testing::Test {
 protected:
  /// Runs `hocket simulate STEP ARGUMENTS…`.
  Answer simulate(const std::string& step, std::vector<std::string> arguments = {}) const {
    arguments.insert(arguments.begin(), {"simulate", step});
    return ask_hocket(arguments);
  }
  Answer small(std::vector<std::string> arguments = {}) const {
    return simulate(small_, std::move(arguments));
  }
  std::int64_t iteration_ns(std::vector<std::string> arguments = {}) const {
    arguments.push_back("--json");
    return small(std::move(arguments)).json().at("iteration_ns");
  }

  TemporaryFolder folder_;
  const std::string small_ = folder_.write("small.json", kSmallSimulatedStep);
};

}  // namespace hocket
