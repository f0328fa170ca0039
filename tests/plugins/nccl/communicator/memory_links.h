#pragma once

// Links in memory between ranks that are threads of one process, which the test can cut.
// Thread-safe.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "plugins/nccl/transport/links.h"
#include "plugins/nccl/transport/steady_time.h"

namespace hocket::nccl {

class MemoryNetwork {
 public:
  explicit MemoryNetwork(std::uint32_t ranks);

  /// Returns the rank's end; once for each rank.
  std::unique_ptr<Links> links_of(std::uint32_t rank);

  /// Loses the link of a rank above 0 and all that is in flight; `join` makes a new one.
  void cut(std::uint32_t rank);
  void join(std::uint32_t rank);

 private:
  class End;
  struct Place {
    std::deque<LinkEvent> arrived;
    std::condition_variable changed;
    bool is_woken = false;
    bool has_link = false;
    bool is_open = false;
  };

  void put(std::uint32_t rank, LinkEvent event);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Place>> places_;
};

}  // namespace hocket::nccl
