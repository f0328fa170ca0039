#pragma once

// A program started by a test, which ends at the latest with the test. For the thread that started
// it.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hocket {

struct ChildOptions {
  std::vector<std::string> argv = {};
  std::map<std::string, std::string> environment = {};  ///< added to the test's own
  std::string out_path = {}, err_path = {};             ///< files for its output; empty: no file
  /// Maximum size of a file that it may write; beyond it writing fails as on a full disk.
  std::optional<std::uint64_t> file_bytes = {};
  /// A folder that is an empty file system of `disk_bytes`, visible only to the program. Without
  /// root this needs a kernel that gives users namespaces of their own; 125 is the exit status
  /// where it cannot be made.
  std::string disk_folder = {};
  std::uint64_t disk_bytes = 0;
  /// A program with a `disk_folder`, whose file systems this one sees as well; 0 if none.
  pid_t mounts_of = 0;
};

class Child {
 public:
  explicit Child(const ChildOptions& options);
  /// Kills the program if it is still running.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  bool is_running() { return !wait(std::chrono::seconds(0)); }

  /// Waits for the end. Returns the exit status as in a shell, 128 + signal if it was killed;
  /// nothing if it is still running after `limit`.
  std::optional<int> wait(std::chrono::milliseconds limit);

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

/// Returns the letter of the process's state in /proc: 'T' if it is stopped; 0 if it does not
/// exist.
char process_state(pid_t pid);

/// Returns a field in kB from the process's /proc/PID/status: "VmRSS", "VmHWM".
std::int64_t status_kb(pid_t pid, const std::string& field);

/// Polls until `condition` holds. Returns false if it does not hold within `limit`.
bool eventually(const std::function<bool()>& condition,
                std::chrono::milliseconds limit = std::chrono::seconds(30));

}  // namespace hocket
