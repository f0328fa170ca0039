#include "plugins/nccl/measure/collective_meter.h"

#include <utility>

namespace hocket::nccl::measure {
namespace {

constexpr std::uint64_t kNoNumber = UINT64_MAX;
/// Bits for the collectives of one time of timing.
constexpr int kNumberBits = 40;

}  // namespace

void CollectiveMeter::ask_for(Events events) {
  const std::lock_guard lock(mutex_);
  if (has_profiler()) change(events);
}

void CollectiveMeter::change(Events events) {
  const Events before = events_.load(std::memory_order_relaxed);
  if (events < Events::counted || before < Events::counted)
    launches_.store(0, std::memory_order_relaxed);
  if (events == Events::timed && before != Events::timed) {
    for (auto& number : first_numbers_) number.store(kNoNumber, std::memory_order_relaxed);
    timings_.fetch_add(1, std::memory_order_relaxed);
  }
  events_.store(events, std::memory_order_relaxed);
  mask_.change(before, events);
}

bool CollectiveMeter::renumber(MeasuredCollective& collective) {
  if (collective.function < 0 || collective.function >= abi::kFunctions) return true;
  auto& first = first_numbers_[static_cast<std::size_t>(collective.function)];
  std::uint64_t from = first.load(std::memory_order_relaxed);
  if (from == kNoNumber) {
    if (calling_thread_.load(std::memory_order_relaxed) != this_thread()) return false;
    from = collective.sequence;
    first.store(from, std::memory_order_relaxed);
  }
  collective.sequence =
      (timings_.load(std::memory_order_relaxed) << kNumberBits) + (collective.sequence - from);
  return true;
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
  timings_.store(0, std::memory_order_relaxed);
  before_ = slots_.losses();
}

void CollectiveMeter::profiler_opened() {
  const std::lock_guard lock(mutex_);
  has_profiler_.store(true, std::memory_order_relaxed);
}

void CollectiveMeter::profiler_closed() {
  {
    const std::lock_guard lock(mutex_);
    change(Events::none);
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
