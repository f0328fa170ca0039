#include "cli/process/exec_command.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace hocket {

Error exec_command(const CommandCall& call) {
  for (const auto& [name, value] : call.environment) setenv(name.c_str(), value.c_str(), 1);
  for (const std::string& name : call.absent) unsetenv(name.c_str());
  std::vector<std::string> words = call.argv;
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  return {ErrorCode::invalid_argument, "cannot start " + words[0] + ": " + std::strerror(errno)};
}

}  // namespace hocket
