#pragma once

// Parameter servers behind emulated links that are slower than the real ones, for machines without
// other hosts. Results measured through them must be reported as those of emulated links.
// Thread-safe as the servers that they wrap.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/base/clock.h"
#include "core/collective/parameter_servers.h"
#include "core/collective/served_paths.h"
#include "core/description/step_description.h"
#include "core/host/link_queues.h"

namespace hocket {

/// One rank's side. Emulates the links that the simulator simulates (core/sim/served_parts.h): a
/// part goes chunk by chunk over the rank's link and the server's at once, both shared with the
/// flows of all ranks; then the latency passes, and the real transfer begins. So no rank is told of
/// a sum before the last part of it has arrived.
class EmulatedServers final : public ParameterServers {
 public:
  /// Bytes of a chunk. A flow waits for at most one chunk of each other flow on a link.
  static constexpr std::size_t kChunkBytes = 64 << 10;

  /// `spec` says what the links are; its costs beside them have no effect, because the real servers
  /// have their own. `links` are those of ServedPaths, shared by all ranks. `clock`, the machine's
  /// on every rank, must outlive this object.
  EmulatedServers(std::unique_ptr<ParameterServers> servers, const StepServers& spec,
                  LinkQueues links, const Clock& clock)
      : servers_(std::move(servers)),
        paths_(spec, static_cast<std::size_t>(servers_->world_size())),
        links_(std::move(links)),
        clock_(clock) {}

  int rank() const override { return servers_->rank(); }
  int world_size() const override { return servers_->world_size(); }
  int servers() const override { return servers_->servers(); }
  using ParameterServers::push;
  Result<void> push(const ServedPart& part, std::span<const float> values,
                    const PartUpdate* update) override;
  Result<std::optional<ServedPart>> next_sum(int server) override {
    return servers_->next_sum(server);
  }
  Result<void> pull(const ServedPart& part, std::span<float> values) override;
  void end_waiting() override { servers_->end_waiting(); }
  void begin_waiting() override { servers_->begin_waiting(); }
  void abort() override;

 private:
  /// Blocks until the part has travelled, or this rank has aborted.
  void carry(const ServedPart& part, std::size_t bytes, bool is_pull);

  const std::unique_ptr<ParameterServers> servers_;
  const ServedPaths paths_;
  LinkQueues links_;
  const Clock& clock_;
  std::atomic<bool> aborted_ = false;
};

}  // namespace hocket
