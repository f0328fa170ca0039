#include "cli/inputs/command_line.h"

#include <algorithm>
#include <string_view>

#include "core/base/check.h"

namespace hocket {
namespace {

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace

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

std::string command_name(std::span<const std::string> command) {
  HOCKET_CHECK(!command.empty(), "a command has a program");
  const auto name = base_name(command.front());
  if (name == "hocket") {
    const auto mark = std::find(command.begin(), command.end(), "--");
    if (mark != command.end() && mark + 1 != command.end()) return std::string(base_name(mark[1]));
  }
  return std::string(name);
}

}  // namespace hocket
