#pragma once

// Ranks with simulated devices for tests: an exchange begins on a rank's device and ends when all
// ranks have begun it, as in NCCL. Detects ranks that exchange different pieces.

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "core/cuda/collectives/device_collective.h"
#include "tests/core/cuda/model_device.h"

namespace hocket {

/// State shared by the ranks. Thread-safe.
class ModelGroup {
 public:
  explicit ModelGroup(int world_size) : world_size_(world_size) {}

  int world_size() const { return world_size_; }

  struct Exchange {
    CollectiveKind kind = CollectiveKind::all_reduce;
    std::vector<DevicePiece> pieces;
  };

  /// Records that rank `rank` has begun exchange `number` of `channel`; returns whether it has
  /// ended.
  bool meet(int channel, std::uint64_t number, int rank, const Exchange& exchange) {
    std::lock_guard lock(mutex_);
    if (is_aborted_) return true;
    Meeting& meeting = meetings_[{channel, number}];
    meeting.of_ranks.resize(static_cast<std::size_t>(world_size_));
    meeting.of_ranks[static_cast<std::size_t>(rank)] = &exchange;
    if (std::ranges::count(meeting.of_ranks, nullptr) > 0) return meeting.ended;
    if (!std::exchange(meeting.ended, true)) carry_out(meeting);
    return true;
  }
  /// Takes what there is of the `messages` of rank `rank`, the numbers of which count those between
  /// two ranks on a channel; returns whether all have arrived.
  bool exchange(int channel, int rank, std::span<const DeviceMessage> messages,
                std::span<const std::uint64_t> numbers) {
    std::lock_guard lock(mutex_);
    if (is_aborted_) return true;
    bool all = true;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const DeviceMessage& side = messages[i];
      const int from = side.sends ? rank : side.peer, to = side.sends ? side.peer : rank;
      Message& message = messages_[{channel, from, to, numbers[i]}];
      (side.sends ? message.sent : message.received) = side.values;
      if (message.sent && message.received && !std::exchange(message.has_arrived, true))
        copy(*message.sent, *message.received);
      all = all && message.has_arrived;
    }
    return all;
  }

  void abort() {
    std::lock_guard lock(mutex_);
    is_aborted_ = true;
    for (auto& [number, groups] : splits_)
      for (auto& [group, part] : groups.parts) part->abort();
  }
  bool is_aborted() const {
    std::lock_guard lock(mutex_);
    return is_aborted_;
  }

  /// Blocks until all ranks have called; returns the new group of `rank`, and its rank in it.
  std::pair<ModelGroup*, int> split(std::uint64_t number, int rank, int group) {
    std::unique_lock lock(mutex_);
    Split& split = splits_[number];
    split.groups[rank] = group;
    split_.notify_all();
    split_.wait(lock, [&] { return split.groups.size() == static_cast<std::size_t>(world_size_); });
    int place = 0, size = 0;
    for (const auto& [other, of] : split.groups) {
      if (of != group) continue;
      if (other < rank) ++place;
      ++size;
    }
    auto& part = split.parts[group];
    if (!part) part = std::make_unique<ModelGroup>(size);
    return {part.get(), place};
  }

 private:
  struct Meeting {
    std::vector<const Exchange*> of_ranks;
    bool ended = false;
  };
  struct Message {
    std::optional<ValueSpan> sent, received;
    bool has_arrived = false;
  };
  struct Split {
    std::map<int, int> groups;  // by rank
    std::map<int, std::unique_ptr<ModelGroup>> parts;
  };

  static void carry_out(Meeting& meeting) {
    const Exchange& first = *meeting.of_ranks.front();
    for (const Exchange* exchange : meeting.of_ranks) {
      HOCKET_CHECK(exchange->kind == first.kind && exchange->pieces.size() == first.pieces.size(),
                   "all ranks exchange the same");
    }
    for (std::size_t i = 0; i < first.pieces.size(); ++i) carry_out(meeting, first.kind, i);
    std::ranges::fill(meeting.of_ranks, nullptr);
  }
  /// Exchanges the pieces at `index`.
  static void carry_out(const Meeting& meeting, CollectiveKind kind, std::size_t index) {
    const DevicePiece& first = meeting.of_ranks.front()->pieces[index];
    std::vector<ValueSpan> values;
    for (const Exchange* exchange : meeting.of_ranks) {
      const DevicePiece& piece = exchange->pieces[index];
      HOCKET_CHECK(piece.owner == first.owner && piece.values.size() == first.values.size(),
                   "all ranks exchange the same pieces");
      values.push_back(piece.values);
    }
    const auto owner = static_cast<std::size_t>(first.owner);
    if (kind != CollectiveKind::all_gather) add_up(values, values[owner]);
    for (std::size_t rank = 0; rank < values.size(); ++rank) {
      if (rank == owner) continue;
      if (kind == CollectiveKind::reduce_scatter) {
        make_undefined(values[rank]);
      } else {
        copy(values[owner], values[rank]);
      }
    }
  }

  const int world_size_;
  mutable std::mutex mutex_;
  std::condition_variable split_;
  // Guarded by mutex_:
  std::map<std::pair<int, std::uint64_t>, Meeting> meetings_;
  std::map<std::tuple<int, int, int, std::uint64_t>, Message> messages_;  // by channel, from, to
  std::map<std::uint64_t, Split> splits_;
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
  Result<void> exchange(CollectiveKind kind, std::span<const DevicePiece> pieces, int channel,
                        DeviceStream stream) override {
    // As long as NCCL may take, in any order with what other threads do.
    for (auto turns = random_() % 40; turns > 0; --turns) std::this_thread::yield();
    if (before_exchange) before_exchange();
    const auto index = static_cast<std::size_t>(channel);
    HOCKET_CHECK(index < numbers_.size(), "open the channel first");
    std::vector<Region> regions;
    for (const DevicePiece& piece : pieces) {
      const bool only_reads = kind == CollectiveKind::all_gather && piece.owner == rank_;
      regions.push_back(only_reads ? reads(piece.values) : writes(piece.values));
    }
    // Owned by the entry that meets the other ranks.
    const auto exchange = std::make_shared<ModelGroup::Exchange>(
        ModelGroup::Exchange{kind, {pieces.begin(), pieces.end()}});
    // Counted at run time, since a captured exchange runs more than once.
    device_.launch(
        stream, regions, [this, index] { ++numbers_[index]; },
        [this, exchange, channel, index] {
          return group_.meet(channel, numbers_[index], rank_, *exchange);
        });
    return {};
  }
  Result<void> exchange_messages(std::span<const DeviceMessage> messages, int channel,
                                 DeviceStream stream) override {
    std::vector<Region> regions;
    for (const DeviceMessage& message : messages)
      regions.push_back(message.sends ? reads(message.values) : writes(message.values));
    struct Batch {
      std::vector<DeviceMessage> messages;
      std::vector<std::uint64_t> numbers;
    };
    const auto batch = std::make_shared<Batch>();
    batch->messages.assign(messages.begin(), messages.end());
    // Numbered when they are first tried, since a captured batch runs more than once.
    device_.launch(
        stream, regions, [batch] { batch->numbers.clear(); },
        [this, batch, channel] {
          if (batch->numbers.empty()) {
            for (const DeviceMessage& message : batch->messages)
              batch->numbers.push_back(message_numbers_[{channel, message.peer, message.sends}]++);
          }
          return group_.exchange(channel, rank_, batch->messages, batch->numbers);
        });
    return {};
  }
  Result<std::unique_ptr<DeviceCollective>> split(int group) override {
    const auto [part, place] = group_.split(splits_++, rank_, group);
    return std::make_unique<ModelCollective>(*part, device_, place);
  }
  Result<void> health() override {
    if (is_ill || group_.is_aborted())
      return failure(ErrorCode::unavailable, "another rank is gone");
    return {};
  }
  /// Like NCCL's abort, returns once no graph contains an exchange any more.
  void abort() override {
    group_.abort();
    while (device_.graphs_alive() > 0) std::this_thread::yield();
  }

  std::atomic<bool> is_ill = false;
  /// Called by exchange() before it puts anything into the stream. Set it before the first.
  std::function<void()> before_exchange;

 private:
  ModelGroup& group_;
  ModelDevice& device_;
  const int rank_;
  std::vector<std::uint64_t> numbers_;  // by channel: exchanges so far
  /// Messages so far, by channel, peer and direction.
  std::map<std::tuple<int, int, bool>, std::uint64_t> message_numbers_;
  std::uint64_t splits_ = 0;
  std::minstd_rand random_{static_cast<unsigned>(rank_) + 1};
};

}  // namespace hocket
