#include "tests/plugins/nccl/communicator/memory_links.h"

#include <chrono>
#include <utility>

namespace hocket::nccl {

class MemoryNetwork::End final : public Links {
 public:
  End(MemoryNetwork& network, std::uint32_t rank) : network_(network), rank_(rank) {}

  std::vector<LinkEvent> wait(std::int64_t timeout_ns) override {
    std::unique_lock lock(network_.mutex_);
    Place& place = *network_.places_[rank_];
    place.changed.wait_for(lock, std::chrono::nanoseconds(timeout_ns),
                           [&] { return place.is_woken || !place.arrived.empty(); });
    place.is_woken = false;
    std::vector<LinkEvent> events(place.arrived.begin(), place.arrived.end());
    place.arrived.clear();
    return events;
  }

  void wake() override {
    const std::lock_guard lock(network_.mutex_);
    network_.places_[rank_]->is_woken = true;
    network_.places_[rank_]->changed.notify_all();
  }

  void send(std::uint32_t to, const Message& message) override {
    const std::lock_guard lock(network_.mutex_);
    const bool is_star = rank_ == 0 || to == 0;
    const std::uint32_t member = rank_ == 0 ? to : rank_;
    if (to == rank_ || (is_star && !network_.places_[member]->has_link)) return;
    if (!network_.places_[to]->is_open) return;
    network_.put(to, {.kind = LinkEvent::Kind::message, .rank = rank_, .message = message});
  }

  void close() override {
    const std::lock_guard lock(network_.mutex_);
    network_.places_[rank_]->is_open = false;
    network_.places_[rank_]->has_link = false;
    if (rank_ == 0) {
      for (std::uint32_t rank = 1; rank < network_.places_.size(); ++rank) {
        if (std::exchange(network_.places_[rank]->has_link, false))
          network_.put(rank, {.kind = LinkEvent::Kind::lost, .rank = 0});
      }
    } else {
      network_.put(0, {.kind = LinkEvent::Kind::lost, .rank = rank_});
    }
  }

 private:
  MemoryNetwork& network_;
  const std::uint32_t rank_;
};

MemoryNetwork::MemoryNetwork(std::uint32_t ranks) {
  for (std::uint32_t rank = 0; rank < ranks; ++rank) places_.push_back(std::make_unique<Place>());
}

std::unique_ptr<Links> MemoryNetwork::links_of(std::uint32_t rank) {
  {
    const std::lock_guard lock(mutex_);
    places_[rank]->is_open = true;
  }
  if (rank > 0) join(rank);
  return std::make_unique<End>(*this, rank);
}

void MemoryNetwork::cut(std::uint32_t rank) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(places_[rank]->has_link, false)) return;
  std::erase_if(places_[0]->arrived, [&](const LinkEvent& event) { return event.rank == rank; });
  places_[rank]->arrived.clear();
  put(0, {.kind = LinkEvent::Kind::lost, .rank = rank});
  put(rank, {.kind = LinkEvent::Kind::lost, .rank = 0});
}

void MemoryNetwork::join(std::uint32_t rank) {
  const std::lock_guard lock(mutex_);
  if (!places_[0]->is_open || std::exchange(places_[rank]->has_link, true)) return;
  put(rank, {.kind = LinkEvent::Kind::up, .rank = 0});
}

void MemoryNetwork::put(std::uint32_t rank, LinkEvent event) {
  places_[rank]->arrived.push_back(std::move(event));
  places_[rank]->changed.notify_all();
}

}  // namespace hocket::nccl
