#pragma once

// An environment of variables chosen by a test. Pure; any thread.

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "client/link/environment.h"

namespace hocket {

inline Environment environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional(it->second);
  };
}

}  // namespace hocket
