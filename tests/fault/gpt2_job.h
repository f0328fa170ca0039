#pragma once

// The language model of examples/gpt2, trained by several ranks on this host. For one thread.

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/fault/child.h"
#include "tests/temporary_folder.h"

namespace hocket {

struct Gpt2JobOptions {
  std::string daemon = {};  ///< URL of the daemon; empty: none
  int ranks = 2;
  bool watch = false;
  std::string explore = "20%";
  bool record = false;
  std::vector<std::string> arguments = {};  ///< arguments of gpt2
  /// By rank, a command that runs the one that follows it; empty: none.
  std::vector<std::vector<std::string>> launchers = {};
  std::string rendezvous = {};                          ///< empty: a folder of the job
  std::string store = {};                               ///< its store, for profiles; empty: none
  std::map<std::string, std::string> environment = {};  ///< added to the ranks'
};

/// Runs one process per rank, as `hocket run` does.
class Gpt2Job {
 public:
  /// Stores its files in `folder`.
  Gpt2Job(const TemporaryFolder& folder, const Gpt2JobOptions& options);

  Child& rank(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

  /// Returns the number of iterations rank 0 has printed so far.
  std::int64_t iterations() const;
  /// Return rank 0's output, and the errors of all ranks.
  std::string out() const;
  std::string errors() const;
  std::string errors(int rank) const;

  /// Returns the first exit status that is not 0, otherwise 0; -1 if a rank is still running after
  /// a minute.
  int wait();
  /// Returns the tape of a rank; requires a job that recorded.
  std::string tape(int rank) const;
  /// Returns "losses" and "parameters_hash" of a job that ended successfully.
  nlohmann::json learned() const;

 private:
  std::string file(const std::string& name, int rank) const;

  std::string folder_;
  std::vector<std::unique_ptr<Child>> ranks_;
};

}  // namespace hocket
