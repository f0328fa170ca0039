#include "core/servers/emulated_servers.h"

#include <algorithm>

namespace hocket {

Result<void> EmulatedServers::push(const ServedPart& part, std::span<const float> values,
                                   const PartUpdate* update) {
  carry(part, values.size_bytes(), false);
  return servers_->push(part, values, update);
}

Result<void> EmulatedServers::pull(const ServedPart& part, std::span<float> values) {
  carry(part, values.size_bytes(), true);
  return servers_->pull(part, values);
}

void EmulatedServers::abort() {
  aborted_ = true;
  servers_->abort();
}

void EmulatedServers::carry(const ServedPart& part, std::size_t bytes, bool is_pull) {
  const auto path =
      paths_.find(static_cast<std::size_t>(rank()), static_cast<std::size_t>(part.server), is_pull);
  if (!path) return;
  const std::uint32_t links[] = {path->rank_link, path->server_link};
  std::int64_t arrived_ns = clock_.now_ns();
  while (bytes > 0 && !aborted_) {
    const std::size_t chunk = std::min(bytes, kChunkBytes);
    arrived_ns = links_.carry(static_cast<double>(chunk), links, arrived_ns);
    clock_.sleep_until_ns(arrived_ns);
    bytes -= chunk;
  }
  if (!aborted_) clock_.sleep_until_ns(arrived_ns + path->latency_ns);
}

}  // namespace hocket
