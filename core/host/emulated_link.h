#pragma once

// A Collective behind a slower link than the real one, for machines without a second host. Results
// measured through it are of an emulated link and must be called so. Thread-safe as the Collective
// that it wraps.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "core/base/clock.h"
#include "core/collective/collective.h"
#include "core/collective/shared_bandwidth.h"
#include "core/step/link.h"

namespace hocket {

/// Collectives go round a ring: of n ranks each sends (n−1)/n of the bytes in n−1 rounds for a
/// reduce-scatter or an all-gather, twice that for an all-reduce. Its share leaves over a link
/// whose bandwidth the parts under way share equally, and each round pays the latency; the real
/// transfer begins when all bytes have left. The groups `world` and `between` use the link between
/// hosts: a ring of all ranks passes it once, and the groups between a host's ranks and others are
/// under way at once, so each of them has but its share of it. Rank 0's messages arrive one latency
/// late.
class EmulatedLink final : public Collective {
 public:
  /// `inside` is the link between ranks of one host, none: one that costs nothing. The others must
  /// outlive it.
  EmulatedLink(Collective& link, const LinkSpec& spec, const Clock& clock,
               const std::optional<LinkSpec>& inside = std::nullopt);

  int rank() const override { return link_.rank(); }
  int world_size() const override { return link_.world_size(); }
  int ranks_per_host() const override { return link_.ranks_per_host(); }
  Result<void> run(const CollectiveWork& work) override;
  Result<void> tell(std::string_view message) override { return link_.tell(message); }
  Result<std::string> hear() override;
  std::int64_t timeout_ns() const override { return link_.timeout_ns(); }
  void abort() override { link_.abort(); }

 private:
  /// What all parts of this rank that use it share.
  class Wire {
   public:
    Wire(const LinkSpec& spec, const Clock& clock) : spec_(spec), clock_(clock) {}

    /// Waits until `bytes` have left and each of `rounds` has come.
    void carry(double bytes, std::int64_t rounds);

   private:
    /// Takes off the link what has left it by now.
    void end_sent(std::int64_t now_ns);

    static constexpr std::int64_t kNotSent = -1;

    const LinkSpec spec_;
    const Clock& clock_;
    std::mutex mutex_;
    // Guarded by mutex_:
    SharedLink shared_;
    std::uint64_t sends_ = 0;
    std::map<std::uint64_t, std::int64_t> sent_ns_;  // of those whose threads have not left
  };

  Collective& link_;
  const std::int64_t latency_ns_;
  const Clock& clock_;
  Wire network_;
  std::optional<Wire> inside_;
};

}  // namespace hocket
