#pragma once

// Where the ranks of several hosts find rank 0: a text under a name, which all of them can read.
// Thread-safe. Each call may take a few seconds.

#include <optional>
#include <string>

namespace hocket::nccl {

class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  /// Returns whether the text can be found now.
  virtual bool publish(const std::string& name, const std::string& text) = 0;
  virtual std::optional<std::string> find(const std::string& name) = 0;
};

}  // namespace hocket::nccl
