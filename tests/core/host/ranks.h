#pragma once

// Runs the ranks of a test job as threads of this process.

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/host/host_executor.h"
#include "core/host/local_collective.h"
#include "core/scheduler/scheduler.h"

namespace hocket {

/// Runs `body(rank, collective)` on one thread per rank of an in-memory group.
inline void run_local_mesh(const Mesh& mesh, const std::function<void(int, Collective&)>& body,
                           std::int64_t timeout_ns = 60'000'000'000) {
  LocalGroup group(mesh, timeout_ns);
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < mesh.grid().ranks; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto collective = group.join(rank);
      body(rank, *collective);
    });
  }
}

/// The same without axes; `ranks_per_host` as in LocalGroup.
inline void run_local_ranks(int world_size, const std::function<void(int, Collective&)>& body,
                            std::int64_t timeout_ns = 60'000'000'000, int ranks_per_host = 0) {
  const int on_host = ranks_per_host == 0 ? world_size : ranks_per_host;
  run_local_mesh(Mesh(RankGrid{world_size, on_host}), body, timeout_ns);
}

/// Forwards every call, and records the order in which parts begin or fails one of them.
class ObservedCollective final : public Collective {
 public:
  explicit ObservedCollective(Collective& link, std::uint64_t fail_at = ~std::uint64_t{0})
      : link_(link), fail_at_(fail_at) {}

  int rank() const override { return link_.rank(); }
  const Mesh& mesh() const override { return link_.mesh(); }
  std::int64_t timeout_ns() const override { return link_.timeout_ns(); }
  void abort() override { link_.abort(); }
  Result<void> tell(std::string_view message) override { return link_.tell(message); }
  Result<std::string> hear() override { return link_.hear(); }

  Result<void> run(const CollectiveWork& work) override {
    if (work.index == fail_at_) return failure(ErrorCode::unavailable, "injected failure");
    {
      std::lock_guard lock(mutex_);
      const auto* const begin = static_cast<const float*>(work.values.data());
      parts_.push_back({work.index, begin, work.values.size()});
    }
    return link_.run(work);
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
