#include "core/cuda/collectives/device_collective.h"

#include <algorithm>
#include <string>
#include <vector>

namespace hocket {
namespace {

/// Cuts `values` into pieces of equal size, one per rank.
Result<std::vector<DevicePiece>> equal_pieces(ValueSpan values, int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  if (values.size() % count != 0) {
    return invalid(std::to_string(values.size()) + " values cannot be cut into a piece for each " +
                   "of " + std::to_string(ranks) + " ranks: must be a multiple of that");
  }
  const std::size_t size = values.size() / count;
  std::vector<DevicePiece> pieces;
  for (std::size_t i = 0; i < count; ++i)
    pieces.push_back({values.subspan(i * size, size), static_cast<int>(i)});
  return pieces;
}

}  // namespace

Result<void> DeviceCollective::all_reduce(ValueSpan values, int channel, DeviceStream stream) {
  const DevicePiece piece{values, 0};
  return exchange(CollectiveKind::all_reduce, {&piece, 1}, channel, stream);
}

Result<void> DeviceCollective::reduce_scatter(ValueSpan values, int channel, DeviceStream stream) {
  const auto pieces = equal_pieces(values, world_size());
  HOCKET_TRY(pieces);
  return exchange(CollectiveKind::reduce_scatter, *pieces, channel, stream);
}

Result<void> DeviceCollective::all_gather(ValueSpan values, int channel, DeviceStream stream) {
  const auto pieces = equal_pieces(values, world_size());
  HOCKET_TRY(pieces);
  return exchange(CollectiveKind::all_gather, *pieces, channel, stream);
}

Result<void> DeviceCollective::broadcast(ValueSpan values, int root, int channel,
                                         DeviceStream stream) {
  if (root < 0 || root >= world_size()) {
    return invalid("rank " + std::to_string(root) + " is to send: must be from 0 to " +
                   std::to_string(world_size() - 1));
  }
  const DevicePiece piece{values, root};
  return exchange(CollectiveKind::all_gather, {&piece, 1}, channel, stream);
}

Result<void> SoleRankCollective::exchange_messages(std::span<const DeviceMessage> messages, int,
                                                   DeviceStream stream) {
  if (messages.empty()) return {};
  if (driver_ == nullptr)
    return invalid("messages of a rank alone: there is no other to send to or to receive from");
  std::vector<ValueSpan> sent, received;
  for (const DeviceMessage& message : messages)
    (message.sends ? sent : received).push_back(message.values);
  const auto bytes = [](ValueSpan values) { return values.size_bytes(); };
  if (!std::ranges::equal(sent, received, {}, bytes, bytes))
    return invalid("messages of a rank alone: it must receive as many bytes as it sends");
  for (std::size_t i = 0; i < sent.size(); ++i)
    HOCKET_TRY(driver_->copy(received[i].data(), sent[i].data(), bytes(sent[i]), stream));
  return {};
}

}  // namespace hocket
