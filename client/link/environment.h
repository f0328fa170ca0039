#pragma once

// Access to environment variables as a parameter, so that tests can replace it.

#include <functional>
#include <optional>
#include <string>

namespace hocket {

/// Looks up an environment variable.
using Environment = std::function<std::optional<std::string>(const char*)>;
std::optional<std::string> process_environment(const char* name);

}  // namespace hocket
