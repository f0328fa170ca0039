#pragma once

// The order of collectives that rank 0 decides while they run and the other ranks follow, as
// core/scheduler/order_messages.h sends and receives it. Thread-safe.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Stands for a collective's number: no more parts will start until the order begins again.
inline constexpr std::uint64_t kEndOfOrder = ~std::uint64_t{0};

class OrderSource {
 public:
  virtual ~OrderSource() = default;

  /// On rank 0, blocks until parts have started since the last call, at most `timeout_ns`, and
  /// returns in `collectives` theirs, in order, for the other ranks; kEndOfOrder comes last when no
  /// more will start. Returns false after a failure: there is nothing to send.
  virtual bool wait_for_started(std::int64_t timeout_ns,
                                std::vector<std::uint64_t>& collectives) = 0;
  /// On the other ranks, passes on the collectives that rank 0 has started.
  virtual void announce(std::span<const std::uint64_t> collectives) = 0;

  /// Reports that the order cannot be sent or received. The first error wins.
  virtual void fail(Error error) = 0;
};

}  // namespace hocket
