#include "plugins/nccl/measure/event_slots.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace hocket::nccl::measure {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

/// All channels have ended, whatever their number is.
constexpr std::uint64_t kClosed = std::numeric_limits<std::uint64_t>::max();

std::uint64_t bit_of(int channel) {
  return std::uint64_t{1} << channel;
}

void lower_to(std::atomic<std::uint64_t>& least, std::uint64_t value) {
  std::uint64_t present = least.load(kRelaxed);
  while (value < present && !least.compare_exchange_weak(present, value, kRelaxed)) {
  }
}

void raise_to(std::atomic<std::uint64_t>& greatest, std::uint64_t value) {
  std::uint64_t present = greatest.load(kRelaxed);
  while (value > present && !greatest.compare_exchange_weak(present, value, kRelaxed)) {
  }
}

/// The generation that a handle carries, from an even one.
std::uint32_t carried(std::uint64_t generation) {
  return static_cast<std::uint32_t>(generation / 2) & kGenerationMask;
}

}  // namespace

bool EventSlots::is_finished(const Slot& slot) {
  if (slot.state.load(std::memory_order_acquire) == 0) return true;  // never used
  const std::uint64_t ended = slot.ended.load(kRelaxed);
  if (ended == kClosed) return true;
  return slot.is_ended.load(kRelaxed) && slot.announced.channels > 0 &&
         std::popcount(ended) >= slot.announced.channels;
}

/// Moves a slot to an odd generation; false while a thread uses it.
bool EventSlots::claim(Slot& slot) {
  std::uint64_t state = slot.state.load(kRelaxed);
  if ((state & kPins) != 0) return false;
  return slot.state.compare_exchange_strong(state, state + (kPins + 1), std::memory_order_acquire);
}

EventSlots::Slot* EventSlots::claim() {
  // The next few places suffice where collectives finish in about the order in which they begin.
  constexpr std::uint64_t kPlaces = 8;
  for (std::uint64_t i = 0; i < kPlaces; ++i) {
    Slot& slot = slots_[(begins_ + i) % kSlots];
    if (is_finished(slot)) {
      if (claim(slot)) return &slot;
    } else if (begins_ - slot.begun > kPatience && claim(slot)) {
      incomplete_.fetch_add(1, kRelaxed);
      if (slot.stopped.load(kRelaxed) != 0 && !slot.is_published.exchange(true)) publish(slot);
      return &slot;
    }
  }
  return nullptr;
}

void* EventSlots::begin(const MeasuredCollective& announced, void* chained, std::uint32_t epoch) {
  ++begins_;
  Slot* slot = claim();
  if (slot == nullptr) {
    without_slot_.fetch_add(1, kRelaxed);
    return nullptr;
  }
  slot->announced = announced;
  slot->chained = chained;
  slot->epoch = epoch;
  slot->begun = begins_;
  slot->earliest_ns.store(std::numeric_limits<std::uint64_t>::max(), kRelaxed);
  slot->latest_ns.store(0, kRelaxed);
  slot->started.store(0, kRelaxed);
  slot->stopped.store(0, kRelaxed);
  slot->ended.store(0, kRelaxed);
  slot->is_ended.store(false, kRelaxed);
  slot->is_published.store(false, kRelaxed);
  slot->is_absurd.store(false, kRelaxed);
  const std::uint64_t state = slot->state.fetch_add(kPins + 1, std::memory_order_release);
  const auto index = static_cast<int>(slot - slots_.data());
  return to_pointer({meter_, index, false, 0, carried((state >> kPinBits) + 1)});
}

void EventSlots::publish(Slot& slot) {
  MeasuredCollective collective = slot.announced;
  const std::uint64_t start_ns = slot.earliest_ns.load(kRelaxed);
  const std::uint64_t stop_ns = slot.latest_ns.load(kRelaxed);
  const bool is_possible = stop_ns >= start_ns && stop_ns - start_ns <= kMaxTime_ns;
  if (slot.is_absurd.load(kRelaxed) || !is_possible) {
    quarantined_.fetch_add(1, kRelaxed);
    return;
  }
  collective.time_ns = static_cast<std::int64_t>(stop_ns - start_ns);
  collective.start_ns = static_cast<std::int64_t>(start_ns & INT64_MAX);
  const int stopped = std::popcount(slot.stopped.load(kRelaxed));
  collective.timed_channels = std::min(stopped, collective.channels);
  ring_.push(collective, slot.epoch);
}

void EventSlots::close() {
  // Pins stay: whoever uses a slot now still finishes with it. The first begin() of the next
  // communicator takes the slots as finished.
  for (Slot& slot : slots_) {
    if (slot.state.load(kRelaxed) == 0) continue;
    slot.state.fetch_add(2 * (kPins + 1), std::memory_order_acq_rel);
    slot.ended.store(kClosed, kRelaxed);
  }
}

MeasuringLosses EventSlots::losses() const {
  return {ring_.overflow(), without_slot_.load(kRelaxed), quarantined_.load(kRelaxed),
          incomplete_.load(kRelaxed), stale_.load(kRelaxed)};
}

SlotUse::SlotUse(EventSlots& slots, const EventHandle& handle) : slots_(slots), handle_(handle) {
  EventSlots::Slot& slot = slots.slots_[static_cast<std::size_t>(handle.slot)];
  std::uint64_t state = slot.state.load(kRelaxed);
  do {
    const std::uint64_t generation = state >> EventSlots::kPinBits;
    const bool is_present = generation != 0 && generation % 2 == 0 &&
                            carried(generation) == handle.generation &&
                            (state & EventSlots::kPins) != EventSlots::kPins;
    if (!is_present) {
      slots.count_stale();
      return;
    }
  } while (
      !slot.state.compare_exchange_weak(state, state + 1, std::memory_order_acquire, kRelaxed));
  slot_ = &slot;
}

SlotUse::~SlotUse() {
  if (slot_ != nullptr) slot_->state.fetch_sub(1, std::memory_order_release);
}

void* SlotUse::chained() const {
  if (!handle_.is_channel) return slot_->chained;
  if (!has_started(handle_.channel)) return nullptr;
  return slot_->channels[static_cast<std::size_t>(handle_.channel)].chained.load(kRelaxed);
}

bool SlotUse::has_started(int channel) const {
  return channel >= 0 && channel < kChannels &&
         (slot_->started.load(std::memory_order_acquire) & bit_of(channel)) != 0;
}

void* SlotUse::start_channel(int channel, std::uint64_t start_ns, void* chained) {
  if (channel < 0 || channel >= kChannels) return handle_without_slot();
  EventHandle handle = handle_;
  handle.is_channel = true;
  handle.channel = channel;
  if (!has_started(channel)) {
    auto& its = slot_->channels[static_cast<std::size_t>(channel)];
    its.start_ns.store(start_ns, kRelaxed);
    its.chained.store(chained, kRelaxed);
    if (start_ns == 0) slot_->is_absurd.store(true, kRelaxed);
    lower_to(slot_->earliest_ns, start_ns);
    slot_->started.fetch_or(bit_of(channel), std::memory_order_release);
  }
  return to_pointer(handle);
}

void SlotUse::stop_channel(std::uint64_t stop_ns) {
  if (!handle_.is_channel) return;
  const std::uint64_t bit = bit_of(handle_.channel);
  if ((slot_->started.load(std::memory_order_acquire) & bit) == 0 ||
      (slot_->stopped.load(kRelaxed) & bit) != 0) {
    return;
  }
  const auto& channel = slot_->channels[static_cast<std::size_t>(handle_.channel)];
  if (stop_ns < channel.start_ns.load(kRelaxed)) slot_->is_absurd.store(true, kRelaxed);
  raise_to(slot_->latest_ns, stop_ns);
  // The thread that adds the last channel sees what the others have written.
  const std::uint64_t before = slot_->stopped.fetch_or(bit, std::memory_order_acq_rel);
  const bool is_last = std::popcount(before | bit) == slot_->announced.channels;
  if ((before & bit) == 0 && is_last && !slot_->is_published.exchange(true)) slots_.publish(*slot_);
}

void SlotUse::end() {
  if (handle_.is_channel) {
    slot_->ended.fetch_or(bit_of(handle_.channel), kRelaxed);
  } else {
    slot_->is_ended.store(true, kRelaxed);
  }
}

}  // namespace hocket::nccl::measure
