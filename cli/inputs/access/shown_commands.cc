#include "cli/inputs/access/shown_commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/base/text.h"
#include "store/store_uri.h"

namespace hocket {
namespace {

constexpr std::string_view kCommandStart = "`hocket ";

/// Returns what the chosen verb of `program` was given for the option, "" if nothing.
std::string given_value(const CLI::App& program, const std::string& name) {
  const CLI::App* app = &program;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().back();
  const CLI::Option* option = app->get_option_no_throw(name);
  return option == nullptr || option->count() == 0 ? "" : option->results().back();
}

/// Returns the verb that the words of `command` name, at most as deep as they do; null if none.
const CLI::App* verb_of(const std::string& command, const CLI::App& program) {
  std::istringstream words(command);
  const CLI::App* verb = &program;
  for (std::string word; words >> word;) {
    const auto verbs = verb->get_subcommands({});
    const auto next =
        std::ranges::find(verbs, word, [](const CLI::App* app) { return app->get_name(); });
    if (next == verbs.end()) break;
    verb = *next;
  }
  return verb == &program ? nullptr : verb;
}

/// Returns the command, which begins behind "hocket ", with the options of the place.
std::string placed_command(std::string command, const CLI::App& program, const std::string& store,
                           const std::string& daemon) {
  const CLI::App* verb = verb_of(command, program);
  const std::size_t end = std::min(command.find(" -- "), command.size());
  const std::string_view own = std::string_view(command).substr(0, end);
  if (verb == nullptr || own.find("--help") != std::string_view::npos) return command;
  const auto takes = [&](const char* option) {
    return verb->get_option_no_throw(option) != nullptr &&
           own.find(option) == std::string_view::npos;
  };
  std::string options;
  if (takes("--store")) options += store_argument(store);
  if (takes("--daemon")) options += daemon_argument(daemon);
  return command.insert(end, options);
}

}  // namespace

std::string store_argument(const std::string& option) {
  return option.empty() ? "" : " --store " + shell_quoted(shown_store(option));
}

std::string shown_argument(const std::string& argument) {
  return shown_store(argument);
}

std::string daemon_argument(const std::string& address) {
  return address.empty() ? "" : " --daemon " + shell_quoted(address);
}

std::string with_given_place(const std::string& message, const CLI::App& program) {
  const std::string store = given_value(program, "--store");
  const std::string daemon = given_value(program, "--daemon");
  if (store.empty() && daemon.empty()) return message;
  std::string placed;
  std::size_t done = 0;
  for (;;) {
    const std::size_t start = message.find(kCommandStart, done);
    if (start == std::string::npos) break;
    const std::size_t begin = start + kCommandStart.size();
    const std::size_t end = message.find('`', begin);
    if (end == std::string::npos) break;
    placed += message.substr(done, begin - done);
    placed += placed_command(message.substr(begin, end - begin), program, store, daemon);
    done = end;
    placed += message[done++];
  }
  return placed + message.substr(done);
}

}  // namespace hocket
