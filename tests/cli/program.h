#pragma once

// Runs the program as a process, with a store and folder of its own. Not thread-safe.

#include <sys/types.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/temporary_folder.h"

namespace hocket {

struct Ended {
  int status = 0;  ///< as in a shell: 128 + signal if it was killed
  std::string out, err;

  /// Returns stdout parsed as JSON; a discarded value if it is not JSON.
  nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

/// The rights with which a program opens files.
enum class Rights {
  own,      ///< as much as the test: everything for root
  of_modes  ///< what the files' modes say, also for root
};

/// `hocket ARGUMENTS…` as a process; killed by the destructor.
class Program {
 public:
  using Environment = std::map<std::string, std::string>;

  /// Descriptors for its output instead of files, where they are some.
  struct Streams {
    int out = -1, err = -1;
  };

  /// Runs in `folder`, which also holds the store "store.db" and the output.
  Program(const TemporaryFolder& folder, std::vector<std::string> arguments,
          const Environment& environment = {}, Rights rights = Rights::own)
      : Program(folder, std::move(arguments), environment, rights, Streams{}) {}
  Program(const TemporaryFolder& folder, std::vector<std::string> arguments,
          const Environment& environment, Rights rights, Streams streams);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// Returns what it has written to stdout so far.
  std::string output() const;
  /// Returns what it has written to stderr so far.
  std::string errors() const;
  Ended wait();

 private:
  std::string out_path_, err_path_;
  pid_t pid_ = -1;
};

/// Runs the program and waits for its end.
Ended hocket_run(const TemporaryFolder& folder, std::vector<std::string> arguments,
                 const Program::Environment& environment = {}, Rights rights = Rights::own);

/// A pipe by which a command tells a test its process id, and that shows when the command has
/// ended.
class Fifo {
 public:
  explicit Fifo(std::string path);
  ~Fifo();
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  const std::string& path() const { return path_; }

  /// Waits until `count` numbers, one per line, were written.
  std::vector<pid_t> read_pids(std::size_t count);

  /// Waits until no process has it open for writing.
  void wait_for_end();

 private:
  int read_some();

  std::string path_, text_;
  int fd_ = -1;
};

bool is_alive(pid_t pid);

}  // namespace hocket
