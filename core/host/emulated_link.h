#pragma once

// A Collective behind a slower link than the real one, for machines without a second host. Results
// measured through it are of an emulated link and must be called so. Thread-safe as the Collective
// that it wraps.

#include <mutex>

#include "core/clock.h"
#include "core/collective.h"
#include "core/link.h"

namespace hocket {

/// Each rank's share of a ring all-reduce, 2(n−1)/n of the bytes, leaves through one token bucket
/// that all parts share; each of its 2(n−1) rounds pays the latency. A part's transfer begins when
/// the bucket has let its bytes through. Rank 0's messages arrive one latency late.
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
  Collective& link_;
  const LinkSpec spec_;
  const Clock& clock_;
  std::mutex mutex_;
  TokenBucket bucket_;  // guarded by mutex_
};

}  // namespace hocket
