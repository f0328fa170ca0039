#pragma once

// A Collective behind a slower link than the real one, for machines without a second host. Results
// measured through it are of an emulated link and must be called so. Thread-safe as the Collective
// that it wraps.

#include <cstdint>
#include <map>
#include <mutex>

#include "core/clock.h"
#include "core/collective.h"
#include "core/link.h"
#include "core/shared_link.h"

namespace hocket {

/// Each rank's share of a ring all-reduce, 2(n−1)/n of the bytes, leaves over one link whose
/// bandwidth the parts under way share equally; each of its 2(n−1) rounds pays the latency. The
/// real transfer begins when all bytes have left. Rank 0's messages arrive one latency late.
class EmulatedLink final : public Collective {
 public:
  EmulatedLink(Collective& link, const LinkSpec& spec, const Clock& clock);

  int rank() const override { return link_.rank(); }
  int world_size() const override { return link_.world_size(); }
  Result<void> all_reduce(std::span<float> values, std::uint64_t index) override;
  Result<void> tell(std::string_view message) override { return link_.tell(message); }
  Result<std::string> hear() override;
  std::int64_t timeout_ns() const override { return link_.timeout_ns(); }
  void abort() override { link_.abort(); }

 private:
  /// Waits until the shared link has let `bytes` through; when that was.
  std::int64_t send(double bytes);
  /// Takes off the link what has left it by now.
  void end_sent(std::int64_t now_ns);

  static constexpr std::int64_t kNotSent = -1;

  Collective& link_;
  const LinkSpec spec_;
  const Clock& clock_;
  std::mutex mutex_;
  // Guarded by mutex_:
  SharedLink shared_;
  std::uint64_t sends_ = 0;
  std::map<std::uint64_t, std::int64_t> sent_ns_;  // of those whose threads have not left
};

}  // namespace hocket
