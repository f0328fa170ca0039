#pragma once

// Ranks for tests, each with a device that is a model: a sum begins on a rank's device and ends
// when all ranks' have begun it, as those of NCCL do.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/cuda/device_collective.h"
#include "tests/core/cuda/model_device.h"

namespace hocket {

/// What the ranks share. Thread-safe.
class ModelGroup {
 public:
  explicit ModelGroup(int world_size) : world_size_(world_size) {}

  int world_size() const { return world_size_; }

  /// Rank `rank` has begun the sum `number` of `channel`; whether it has ended.
  bool meet(int channel, std::uint64_t number, int rank, std::span<float> values) {
    std::lock_guard lock(mutex_);
    if (is_aborted_) return true;
    Sum& sum = sums_[{channel, number}];
    sum.values.resize(static_cast<std::size_t>(world_size_));
    sum.values[static_cast<std::size_t>(rank)] = values;
    for (const auto& of_rank : sum.values)
      if (!of_rank.data()) return false;
    if (!std::exchange(sum.ended, true)) add_up(sum);
    return true;
  }
  void abort() {
    std::lock_guard lock(mutex_);
    is_aborted_ = true;
  }
  bool is_aborted() const {
    std::lock_guard lock(mutex_);
    return is_aborted_;
  }

 private:
  struct Sum {
    std::vector<std::span<float>> values;  // by rank
    bool ended = false;
  };

  static void add_up(Sum& sum) {
    for (std::size_t i = 0; i < sum.values.front().size(); ++i) {
      float total = 0;
      for (const auto& of_rank : sum.values) total += of_rank[i];
      for (const auto& of_rank : sum.values) of_rank[i] = total;
    }
  }

  const int world_size_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::map<std::pair<int, std::uint64_t>, Sum> sums_;
  bool is_aborted_ = false;
};

class ModelCollective final : public DeviceCollective {
 public:
  ModelCollective(ModelGroup& group, ModelDevice& device, int rank)
      : group_(group), device_(device), rank_(rank) {}

  int rank() const override { return rank_; }
  int world_size() const override { return group_.world_size(); }
  Result<void> open(int channels) override {
    numbers_.resize(static_cast<std::size_t>(channels));
    return {};
  }
  Result<void> all_reduce(std::span<float> values, int channel, DeviceStream stream) override {
    const auto index = static_cast<std::size_t>(channel);
    HOCKET_CHECK(index < numbers_.size(), "open the channel first");
    // Counted when it runs, since one that is captured runs more than once.
    device_.launch(
        stream, {writes(values)}, [this, index] { ++numbers_[index]; },
        [this, values, channel, index] {
          return group_.meet(channel, numbers_[index], rank_, values);
        });
    return {};
  }
  Result<void> reduce_scatter(std::span<float>, int, DeviceStream) override { return sums_alone(); }
  Result<void> all_gather(std::span<float>, int, DeviceStream) override { return sums_alone(); }
  Result<void> broadcast(std::span<float>, int, int, DeviceStream) override { return sums_alone(); }
  Result<std::unique_ptr<DeviceCollective>> split(int) override { return sums_alone(); }
  Result<void> health() override {
    if (is_ill) return failure(ErrorCode::unavailable, "another rank is gone");
    return {};
  }
  void abort() override { group_.abort(); }

  std::atomic<bool> is_ill = false;

 private:
  static tl::unexpected<Error> sums_alone() {
    return failure(ErrorCode::unavailable, "the model sums over all ranks alone");
  }

  ModelGroup& group_;
  ModelDevice& device_;
  const int rank_;
  std::vector<std::uint64_t> numbers_;  // by channel: sums so far
};

}  // namespace hocket
