#include "plugins/nccl/measure/collective_meter.h"

#include <utility>

namespace hocket::nccl::measure {

void CollectiveMeter::want_channel_times(bool wanted) {
  const std::lock_guard lock(window_mutex_);
  if (has_profiler() && !is_silent_) set_window(wanted);
}

void CollectiveMeter::silence() {
  const std::lock_guard lock(window_mutex_);
  if (!has_profiler() || std::exchange(is_silent_, true)) return;
  set_window(false);
  mask_.begin_silence();
}

void CollectiveMeter::set_window(bool wanted) {
  if (wanted_.exchange(wanted, std::memory_order_relaxed) == wanted) return;
  if (wanted) {
    mask_.open_window();
  } else {
    mask_.close_window();
  }
}

void* CollectiveMeter::start_collective(const MeasuredCollective& announced, void* chained) {
  return slots_.begin(announced, chained, epoch_.load(std::memory_order_relaxed));
}

MeasuringLosses CollectiveMeter::losses() const {
  MeasuringLosses losses = slots_.losses();
  losses.overflow -= before_.overflow;
  losses.without_slot -= before_.without_slot;
  losses.quarantined -= before_.quarantined;
  losses.incomplete -= before_.incomplete;
  losses.stale -= before_.stale;
  return losses;
}

void CollectiveMeter::open() {
  epoch_.fetch_add(1, std::memory_order_relaxed);
  calling_thread_.store(nullptr, std::memory_order_relaxed);
  launches_.store(0, std::memory_order_relaxed);
  before_ = slots_.losses();
}

void CollectiveMeter::profiler_opened() {
  const std::lock_guard lock(window_mutex_);
  has_profiler_.store(true, std::memory_order_relaxed);
}

void CollectiveMeter::profiler_closed() {
  {
    const std::lock_guard lock(window_mutex_);
    set_window(false);
    if (std::exchange(is_silent_, false)) mask_.end_silence();
    has_profiler_.store(false, std::memory_order_relaxed);
  }
  slots_.close();
}

MeterPool::~MeterPool() {
  for (auto& place : meters_) delete place.load();
}

CollectiveMeter* MeterPool::take() {
  const std::lock_guard lock(mutex_);
  for (auto& place : meters_) {
    CollectiveMeter* meter = place.load(std::memory_order_relaxed);
    const auto number = static_cast<std::size_t>(&place - meters_.data());
    if (meter == nullptr) {
      meter = new CollectiveMeter(static_cast<int>(number), mask_);
      place.store(meter, std::memory_order_release);
    } else if (is_taken_[number]) {
      continue;
    }
    is_taken_[number] = true;
    meter->open();
    return meter;
  }
  return nullptr;
}

void MeterPool::give_back(CollectiveMeter* meter) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < meters_.size(); ++i) {
    if (meters_[i].load(std::memory_order_relaxed) == meter) is_taken_[i] = false;
  }
}

}  // namespace hocket::nccl::measure
