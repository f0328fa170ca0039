#pragma once

// A program that a test starts, and that ends with the test at the latest. For the thread that
// started it.

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
  std::string out_path = {}, err_path = {};             ///< files for its output; empty: none
  /// Largest file that it may write; more fails as a full disk does.
  std::optional<std::uint64_t> file_bytes = {};
  /// A folder that is an empty file system of `disk_bytes` for the program alone (root only).
  std::string disk_folder = {};
  std::uint64_t disk_bytes = 0;
};

class Child {
 public:
  explicit Child(const ChildOptions& options);
  /// Kills it if it still runs.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  bool is_running() { return !wait(std::chrono::seconds(0)); }

  /// Its exit status as a shell has it, 128 + signal for one that was killed; nothing when it still
  /// runs after `limit`.
  std::optional<int> wait(std::chrono::milliseconds limit);

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

/// The letter of the process's state in /proc: 'T' when it is stopped; 0 when there is none.
char process_state(pid_t pid);

/// A number of kB in the process's /proc/PID/status: "VmRSS", "VmHWM".
std::int64_t status_kb(pid_t pid, const std::string& field);

/// Looks again and again until `condition` holds; false when it does not within `limit`.
bool eventually(const std::function<bool()>& condition,
                std::chrono::milliseconds limit = std::chrono::seconds(30));

}  // namespace hocket
