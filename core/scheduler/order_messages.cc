#include "core/scheduler/order_messages.h"

#include <cstring>
#include <string_view>
#include <vector>

namespace hocket {
namespace {

/// Encodes an order of collectives as a message: their numbers, eight bytes each in the machine's
/// byte order.
std::string_view order_message(const std::vector<std::uint64_t>& collectives) {
  return {reinterpret_cast<const char*>(collectives.data()),
          collectives.size() * sizeof(std::uint64_t)};
}

std::vector<std::uint64_t> read_order_message(std::string_view message) {
  std::vector<std::uint64_t> collectives(message.size() / sizeof(std::uint64_t));
  // A heartbeat is empty, and then there may be no pointer to copy to.
  if (!collectives.empty())
    std::memcpy(collectives.data(), message.data(), collectives.size() * sizeof(std::uint64_t));
  return collectives;
}

}  // namespace

void send_order(OrderSource& source, Collective& collective) {
  std::vector<std::uint64_t> collectives;
  // An empty message after a quarter of the timeout is the heartbeat that the other ranks wait for.
  while (source.wait_for_started(collective.timeout_ns() / 4, collectives)) {
    if (const auto sent = collective.tell(order_message(collectives)); !sent) {
      source.fail(sent.error().in("telling the order of collectives"));
      return;
    }
    if (!collectives.empty() && collectives.back() == kEndOfOrder) return;
  }
}

void follow_order(OrderSource& source, Collective& collective) {
  for (;;) {
    const auto message = collective.hear();
    if (!message) {
      source.fail(message.error().in("waiting for rank 0's order of collectives"));
      return;
    }
    const auto order = read_order_message(*message);
    if (!order.empty() && order.back() == kEndOfOrder) return;
    source.announce(order);
  }
}

}  // namespace hocket
