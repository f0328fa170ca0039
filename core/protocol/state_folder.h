#pragma once

// The folder for what a user's programs keep (XDG Base Directory Specification). Pure; thread-safe.

#include <string>
#include <string_view>

namespace hocket {

/// Returns $XDG_STATE_HOME/hocket, else $HOME/.local/state/hocket, given the values of the
/// variables; "" if both are empty. Ignores a relative XDG_STATE_HOME, as the specification says.
inline std::string state_folder(std::string_view xdg_state_home, std::string_view home) {
  if (xdg_state_home.starts_with('/')) return std::string(xdg_state_home) + "/hocket";
  return home.empty() ? std::string() : std::string(home) + "/.local/state/hocket";
}

}  // namespace hocket
