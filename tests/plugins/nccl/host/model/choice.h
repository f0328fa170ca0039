#pragma once

// The way in which one collective runs. A value; any thread.

#include <cstdint>
#include <string>

#include "tests/plugins/nccl/host/nccl_plugin_calls.h"

namespace hocket::nccl_host {

struct Choice {
  int algorithm = -1, protocol = -1, channels = 0;
  auto operator<=>(const Choice&) const = default;
};

inline std::string to_string(const Choice& choice) {
  return std::string(algorithm_name(choice.algorithm)) + "/" + protocol_name(choice.protocol) +
         "/" + std::to_string(choice.channels);
}

/// A collective as the tuner sees it: `bytes` is its largest buffer.
struct Shape {
  int function = kAllReduce;
  std::uint64_t bytes = 0;
  int ranks = 1, nodes = 1;
  auto operator<=>(const Shape&) const = default;
};

}  // namespace hocket::nccl_host
