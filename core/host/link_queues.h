#pragma once

// Emulated links that the processes of one machine share. Each link is a queue: a chunk takes the
// time of its bytes behind all chunks that came before, so flows that send chunk after chunk share
// a link nearly equally. A link is one number in memory that all processes map, the time at which
// it is free, and nothing is locked: a process that dies delays the others by its last chunks.
// Thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/host/emulation/shared_memory.h"

namespace hocket {

class LinkQueues {
 public:
  /// Makes a free link for each bandwidth. unavailable with the system's reason.
  static Result<LinkQueues> make(std::vector<double> bytes_per_second);

  /// Maps the links that a process of this machine has made, under the name() that they have there
  /// and with the same bandwidths. That process must still have them. unavailable if this machine
  /// has no such links, invalid_argument if their number is another.
  static Result<LinkQueues> open(const std::string& name, std::vector<double> bytes_per_second);

  const std::string& name() const { return memory_.name(); }

  /// Puts a chunk of a flow on all `links` at once, and returns when the last of them has carried
  /// it. `ready_ns` is the time at which the flow's previous chunk arrived, or the flow began, by a
  /// clock that all processes have. It may be past, so that a flow which wakes late loses no
  /// bandwidth that nobody else has used.
  std::int64_t carry(double bytes, std::span<const std::uint32_t> links, std::int64_t ready_ns);

 private:
  LinkQueues(SharedMemory memory, std::vector<double> bytes_per_second)
      : memory_(std::move(memory)), bytes_per_second_(std::move(bytes_per_second)) {}

  /// Time at which a link is free; shared, so only accessed atomically.
  std::int64_t& free_ns(std::uint32_t link) const {
    return reinterpret_cast<std::int64_t*>(memory_.data())[link];
  }

  SharedMemory memory_;
  std::vector<double> bytes_per_second_;
};

/// Gives all ranks the same links. Every rank must call it, with the same bandwidths, when no other
/// thread uses tell() or hear(). unavailable if the ranks are not on one machine.
Result<LinkQueues> share_link_queues(Collective& collective, std::vector<double> bytes_per_second);

}  // namespace hocket
