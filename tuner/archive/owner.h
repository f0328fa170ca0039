#pragma once

// Who runs a study: one process, named so that another can tell whether it is still there.
// "PID@HOST BOOT/START": boot is the id of the host's boot, start the process's start time in clock
// ticks since then, so that neither a restart nor a reused process id deceives. Thread-safe.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace hocket {

/// What a host knows of its processes.
struct HostView {
  std::string name, boot_id;
  /// The start time of a live process; nothing when there is none with this id.
  std::function<std::optional<std::string>(const std::string& pid)> start_time;
};

/// This host.
HostView this_host();

/// This process.
std::string owner_text();

/// Who uses this process, for the audit: "USER@HOST".
std::string actor_text();

enum class OwnerState {
  alive,
  gone,
  unknown,  ///< on another host, or not readable
};

OwnerState owner_state(std::string_view owner, const HostView& host);

}  // namespace hocket
