#pragma once

// Identifies the process that runs a study, so that another process can tell whether it is still
// alive. Format "PID@HOST BOOT/START": BOOT is the id of the host's boot, START the process's start
// time in clock ticks since then; they distinguish it after a reboot or the reuse of a process id.
// Thread-safe.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace hocket {

/// A host's information about its processes.
struct HostView {
  std::string name, boot_id;
  /// Returns the start time of a live process; nothing if there is no process with this id.
  std::function<std::optional<std::string>(const std::string& pid)> start_time;
};

/// Returns the view of this host.
HostView this_host();

/// Returns the text that identifies this process.
std::string owner_text();

/// Returns the user of this process for the audit: "USER@HOST".
std::string actor_text();

enum class OwnerState {
  alive,
  gone,
  unknown,  ///< on another host, or not parsable
};

OwnerState owner_state(std::string_view owner, const HostView& host);

}  // namespace hocket
