#pragma once

// Jobs that outlive the trial that started them: a job in a container, on another host or in a
// session of its own goes on when the command that started it is ended, and the next trials find
// its port, its device or its memory taken. Pure functions; thread-safe.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// A line by which a program says that what it needs is taken.
struct TakenSign {
  std::string line;
  /// The trial itself may need too much: memory, not a port or a device.
  bool may_be_own = false;

  bool operator==(const TakenSign&) const = default;
};

/// Returns the first such line of an output, one that cannot be the trial's own before others.
std::optional<TakenSign> taken_sign(std::string_view output);

/// Returns what in a command starts a job that goes on when the command is ended: "docker exec",
/// "ssh", "nohup". Empty if nothing is known to.
std::string outliving_start(const std::vector<std::string>& command);

/// The trials before a failed one, as far as they are known.
struct EarlierTrials {
  std::string start = {};  ///< outliving_start() of their command
  bool are_any = false;
  bool was_one_ended =
      false;  ///< one was ended by hocket: at its time limit, early, at an interrupt
  bool have_stop_command = false;
};

/// Returns the likely cause of a failure whose output is `output`, beginning with "; "; empty if
/// nothing speaks for an earlier job.
std::string earlier_job_text(std::string_view output, const EarlierTrials& earlier);

}  // namespace hocket
