#include "cli/base/command_line.h"

#include <algorithm>

namespace hocket {

CommandLine split_command_line(std::span<const std::string> arguments) {
  const auto mark = std::find(arguments.begin(), arguments.end(), "--");
  CommandLine line{{arguments.begin(), mark}, std::nullopt};
  if (mark != arguments.end()) line.command.emplace(mark + 1, arguments.end());
  return line;
}

Result<std::vector<std::string>> required_command(
    const std::optional<std::vector<std::string>>& command, const std::string& verb) {
  if (command && !command->empty() && !command->front().empty()) return *command;
  return failure(ErrorCode::invalid_argument,
                 "there is no command to run; write it behind the options: hocket " + verb +
                     " [options] -- COMMAND…");
}

Result<void> no_command(const std::optional<std::vector<std::string>>& command,
                        const std::string& verb) {
  if (!command) return {};
  return failure(ErrorCode::invalid_argument,
                 "hocket " + verb + " runs no command; leave out the \"--\" and what follows it");
}

}  // namespace hocket
