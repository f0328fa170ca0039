#pragma once

// The owner of a study: one process, named so that another can tell whether it is still alive.
// "PID@HOST BOOT/START": boot is the id of the host's boot, start the process's start time in clock
// ticks since then, so that neither a restart nor a reused process id deceives. Thread-safe.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace hocket {

/// A host and its processes.
struct HostView {
  std::string name, boot_id;
  /// Returns the start time of a live process; nothing when no process has this id.
  std::function<std::optional<std::string>(const std::string& pid)> start_time;
};

/// Returns the view of this host.
HostView this_host();

/// Returns the name of this process as an owner.
std::string owner_text();

/// Returns the user of this process for the audit: "USER@HOST".
std::string actor_text();

enum class OwnerState {
  alive,
  gone,
  unknown,  ///< on another host, or a name that cannot be read
};

OwnerState owner_state(std::string_view owner, const HostView& host);

/// Returns the host of an owner; empty for a name that cannot be read.
std::string_view owner_host(std::string_view owner);

}  // namespace hocket
