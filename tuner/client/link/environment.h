#pragma once

// The environment as it is passed in, so that a test can choose it.

#include <functional>
#include <optional>
#include <string>

namespace hocket {

/// Looks up an environment variable.
using Environment = std::function<std::optional<std::string>(const char*)>;
std::optional<std::string> process_environment(const char* name);

}  // namespace hocket
