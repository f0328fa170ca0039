#include "client/link/environment.h"

#include <cstdlib>

namespace hocket {

std::optional<std::string> process_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace hocket
