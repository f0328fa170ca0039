#pragma once

// The real program, started by a test, with a store and a folder of its own. Not thread-safe.

#include <sys/types.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/temporary_folder.h"

namespace hocket {

struct Ended {
  int status = 0;  ///< as a shell has it: 128 + signal for one that was killed
  std::string out, err;

  /// What was printed on stdout, as JSON; null when it is none.
  nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

/// `hocket ARGUMENTS…` as a process; killed when the object goes.
class Program {
 public:
  using Environment = std::map<std::string, std::string>;

  /// Runs in `folder`, which also holds the store "store.db" and the output.
  Program(const TemporaryFolder& folder, std::vector<std::string> arguments,
          const Environment& environment = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  Ended wait();

 private:
  std::string out_path_, err_path_;
  pid_t pid_ = -1;
};

/// From start to end.
Ended hocket_run(const TemporaryFolder& folder, std::vector<std::string> arguments,
                 const Program::Environment& environment = {});

/// Through which a command tells a test who it is, and holds on until the test is done.
class Fifo {
 public:
  explicit Fifo(std::string path);
  ~Fifo();
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  const std::string& path() const { return path_; }

  /// Waits until `count` numbers, each in a line, were written.
  std::vector<pid_t> read_pids(std::size_t count);

  /// Waits until no process has it open for writing any more.
  void wait_for_end();

 private:
  int read_some();

  std::string path_, text_;
  int fd_ = -1;
};

bool is_alive(pid_t pid);

}  // namespace hocket
