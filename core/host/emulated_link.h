#pragma once

// A Collective that emulates a slower link than the real one, for machines without a second host.
// Results measured through it must be reported as those of an emulated link. Thread-safe as the
// Collective that it wraps.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "core/base/clock.h"
#include "core/collective/collective.h"
#include "core/collective/shared_link.h"
#include "core/step/link.h"

namespace hocket {

/// Emulates a ring: of n ranks each sends (n−1)/n of the bytes in n−1 rounds for a reduce-scatter
/// or an all-gather, twice that for an all-reduce. The bytes leave over a link whose bandwidth the
/// parts in flight share equally, and each round adds the latency; the real transfer begins after
/// that. Groups with ranks on several hosts use the link between hosts, which their ring crosses
/// once; the groups of one kind that a host has run concurrently on its link, so each gets only its
/// share of the bandwidth. Other groups use the link inside. Messages of rank 0 are delayed by one
/// latency.
class EmulatedLink final : public Collective {
 public:
  /// `inside` is the link between ranks of one host; absent: it costs no time. `link` and `clock`
  /// must outlive this object.
  EmulatedLink(Collective& link, const LinkSpec& spec, const Clock& clock,
               const std::optional<LinkSpec>& inside = std::nullopt);

  int rank() const override { return link_.rank(); }
  const Mesh& mesh() const override { return link_.mesh(); }
  Result<void> run(const CollectiveWork& work) override;
  Result<void> tell(std::string_view message) override { return link_.tell(message); }
  Result<std::string> hear() override;
  std::int64_t timeout_ns() const override { return link_.timeout_ns(); }
  void abort() override { link_.abort(); }

 private:
  /// Link that all parts of this rank share.
  class Wire {
   public:
    Wire(const LinkSpec& spec, const Clock& clock) : spec_(spec), clock_(clock) {}

    /// Blocks until `bytes` have left and the latency of all `rounds` has passed.
    void carry(double bytes, std::int64_t rounds);

   private:
    /// Removes the transfers that have left by now from the link.
    void end_sent(std::int64_t now_ns);

    static constexpr std::int64_t kNotSent = -1;

    const LinkSpec spec_;
    const Clock& clock_;
    std::mutex mutex_;
    // Guarded by mutex_:
    SharedLink shared_;
    std::uint64_t sends_ = 0;
    // Transfers whose threads still wait, by number.
    std::map<std::uint64_t, std::int64_t> sent_ns_;
  };

  /// Blocks for what this rank sends of a broadcast, an all-to-all or a message to another rank:
  /// its bytes over the links that they leave by, and a latency for each round.
  void carry_message(const CollectiveWork& work, std::span<const std::int64_t> ranks,
                     std::size_t own);

  Collective& link_;
  const std::int64_t latency_ns_;
  const Clock& clock_;
  Wire network_;
  std::optional<Wire> inside_;
};

}  // namespace hocket
