#pragma once

// The language model of examples/gpt2, trained by several ranks on this host. For one thread.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/fault/child.h"
#include "tests/temporary_folder.h"

namespace hocket {

struct Gpt2JobOptions {
  std::string daemon = {};  ///< its URL; empty: none
  int ranks = 2;
  bool watch = false;
  std::string explore = "20%";
  bool record = false;
  std::vector<std::string> arguments = {};  ///< of gpt2
};

/// One process a rank, as `hocket run` starts them.
class Gpt2Job {
 public:
  /// Its files are in `folder`.
  Gpt2Job(const TemporaryFolder& folder, const Gpt2JobOptions& options);

  Child& rank(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

  /// Iterations that rank 0 has said so far.
  std::int64_t iterations() const;
  /// What rank 0 printed, and all ranks' errors.
  std::string out() const;
  std::string errors() const;

  /// The first exit status that is not 0, else 0; -1 when a rank still runs after a minute.
  int wait();
  /// The tape of a rank of a job that recorded.
  std::string tape(int rank) const;
  /// "losses" and "parameters_hash" of a job that has ended well.
  nlohmann::json learned() const;

 private:
  std::string file(const std::string& name, int rank) const;

  std::string folder_;
  std::vector<std::unique_ptr<Child>> ranks_;
};

}  // namespace hocket
