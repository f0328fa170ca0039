#include "cli/process/user_unit.h"

#include <algorithm>
#include <string_view>

#include "core/base/text.h"

namespace hocket {
namespace {

/// Returns a word as systemd reads it back (man systemd.service, "Command lines"; systemd.exec on
/// Environment=), where % begins a specifier and, in a command, $ a variable.
Result<std::string> unit_word(std::string_view word, bool is_command) {
  std::string text = "\"";
  for (const char c : word) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) {
      return invalid("a unit of systemd cannot have the control character in \"" +
                     printable(std::string(word), 200) + "\"");
    }
    if (c == '"' || c == '\\') text += '\\';
    if (c == '%' || (c == '$' && is_command)) text += c;
    text += c;
  }
  return text + '"';
}

}  // namespace

std::string user_unit_path(const Environment& environment) {
  const std::string config = environment("XDG_CONFIG_HOME").value_or("");
  const std::string home = environment("HOME").value_or("");
  if (config.starts_with('/')) return config + "/systemd/user/hocket.service";
  return home.empty() ? "" : home + "/.config/systemd/user/hocket.service";
}

std::map<std::string, std::string> user_unit_variables(const Environment& environment) {
  std::map<std::string, std::string> variables;
  for (const char* name : {"HOCKET_STORE", "HOCKET_TRACES", "XDG_STATE_HOME", "XDG_CACHE_HOME"}) {
    if (const auto value = environment(name); value && !value->empty()) variables[name] = *value;
  }
  return variables;
}

Result<std::string> unit_text(const UserUnit& unit) {
  std::string command, variables;
  for (const std::string& word : unit.command) {
    const auto quoted = unit_word(word, true);
    HOCKET_TRY(quoted);
    command += (command.empty() ? "" : " ") + *quoted;
  }
  for (const auto& [name, value] : unit.variables) {
    const auto quoted = unit_word(name + "=" + value, false);
    HOCKET_TRY(quoted);
    variables += "Environment=" + *quoted + "\n";
  }
  // Quotes would be a part of this path.
  auto folder = unit_word(unit.folder, false);
  HOCKET_TRY(folder);
  if (unit.folder.find_first_of("\"\\") != std::string::npos) {
    return invalid("a unit of systemd cannot begin in the folder " + unit.folder +
                   ", whose name has a quote or a backslash");
  }
  *folder = folder->substr(1, folder->size() - 2);
  return "[Unit]\n"
         "Description=hocket: tuned configurations for training jobs\n"
         "\n"
         "[Service]\n"
         "Type=notify\n"
         "ExecStart=" +
         command + "\nWorkingDirectory=" + *folder + "\n" + variables +
         "# It finishes what it has accepted for up to 10 seconds.\n"
         "TimeoutStopSec=20\n"
         "Restart=on-failure\n"
         "UMask=0077\n"
         "NoNewPrivileges=yes\n"
         "\n"
         "[Install]\n"
         "WantedBy=default.target\n";
}

}  // namespace hocket
