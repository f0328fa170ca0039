#pragma once

// What a verb answers when it is run in the test's own process.

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/application.h"

namespace hocket {

struct Answer {
  int status = 0;
  std::string out, err;

  /// What was printed on stdout, as JSON; discarded when it is none.
  nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

/// `hocket ARGUMENTS`, without a terminal.
inline Answer ask_hocket(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const int status = run_hocket(arguments, out, err, 0);
  return {status, out.str(), err.str()};
}

}  // namespace hocket
