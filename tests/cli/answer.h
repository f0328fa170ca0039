#pragma once

// Runs a verb within the test's process and captures its output. One thread.

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/application.h"

namespace hocket {

struct Answer {
  int status = 0;
  std::string out, err;

  /// Returns stdout parsed as JSON; a discarded value if it is not JSON.
  nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

/// Runs `hocket ARGUMENTS` without a terminal.
inline Answer ask_hocket(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const int status = run_hocket(arguments, out, err, 0);
  return {status, out.str(), err.str()};
}

}  // namespace hocket
