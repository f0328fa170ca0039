#pragma once

// Ranks of a test job as threads of this process.

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/host/host_executor.h"
#include "core/host/local_collective.h"
#include "core/scheduler.h"

namespace hocket {

/// Runs `body(rank, collective)` on one thread a rank of a group in memory.
inline void run_local_ranks(int world_size, const std::function<void(int, Collective&)>& body,
                            std::int64_t timeout_ns = 60'000'000'000) {
  LocalGroup group(world_size, timeout_ns);
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto collective = group.join(rank);
      body(rank, *collective);
    });
  }
}

/// Passes everything on, and records the order in which parts begin or fails one of them.
class ObservedCollective final : public Collective {
 public:
  explicit ObservedCollective(Collective& link, std::uint64_t fail_at = ~std::uint64_t{0})
      : link_(link), fail_at_(fail_at) {}

  int rank() const override { return link_.rank(); }
  int world_size() const override { return link_.world_size(); }
  std::int64_t timeout_ns() const override { return link_.timeout_ns(); }
  void abort() override { link_.abort(); }
  Result<void> tell(std::string_view message) override { return link_.tell(message); }
  Result<std::string> hear() override { return link_.hear(); }

  Result<void> all_reduce(std::span<float> values, std::uint64_t index) override {
    if (index == fail_at_) return failure(ErrorCode::unavailable, "injected failure");
    {
      std::lock_guard lock(mutex_);
      parts_.push_back({index, values.data(), values.size()});
    }
    return link_.all_reduce(values, index);
  }

  struct Part {
    std::uint64_t index;
    const float* begin;
    std::size_t size;
  };
  const std::vector<Part>& parts() const { return parts_; }

 private:
  Collective& link_;
  const std::uint64_t fail_at_;
  std::mutex mutex_;
  std::vector<Part> parts_;
};

}  // namespace hocket
