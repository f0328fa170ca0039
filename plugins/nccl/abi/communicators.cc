#include "plugins/nccl/abi/communicators.h"

#include <cstddef>

namespace hocket::nccl::abi {
namespace {

// tag 16 | zero 4 | place 12 | generation 32. Never null, and never an address.
constexpr std::uint64_t kContextTag = 0xB0C8;

void* to_context(std::size_t place, std::uint32_t generation) {
  return reinterpret_cast<void*>(kContextTag << 48 | std::uint64_t{place} << 32 | generation);
}

std::size_t place_of(const void* context) {
  return reinterpret_cast<std::uint64_t>(context) >> 32 & 0xFFFF;
}

std::uint32_t generation_of(const void* context) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(context));
}

}  // namespace

Communicators::~Communicators() {
  for (auto& communicator : all_) delete communicator.load();
}

void* Communicators::add() {
  const std::lock_guard lock(mutex_);
  for (std::size_t place = 0; place < kMost; ++place) {
    if (is_used_[place]) continue;
    is_used_[place] = true;
    Communicator* communicator = all_[place].load(std::memory_order_relaxed);
    if (communicator == nullptr) {
      communicator = new Communicator;
      all_[place].store(communicator, std::memory_order_release);
    }
    return to_context(place, communicator->generation.load(std::memory_order_relaxed));
  }
  return nullptr;
}

Communicator* Communicators::find(const void* context) const {
  if (reinterpret_cast<std::uint64_t>(context) >> 48 != kContextTag) return nullptr;
  const std::size_t place = place_of(context);
  if (place >= kMost) return nullptr;
  Communicator* communicator = all_[place].load(std::memory_order_acquire);
  if (communicator == nullptr) return nullptr;
  const bool is_current =
      communicator->generation.load(std::memory_order_acquire) == generation_of(context);
  return is_current ? communicator : nullptr;
}

void Communicators::remove(void* context) {
  Communicator* communicator = find(context);
  if (communicator == nullptr) return;
  const std::lock_guard lock(mutex_);
  communicator->generation.fetch_add(1, std::memory_order_release);
  communicator->comm_id = 0;
  communicator->ranks = 0;
  communicator->knows_rank = false;
  communicator->logger = nullptr;
  communicator->meter = nullptr;
  communicator->calls = nullptr;
  communicator->event_mask = nullptr;
  communicator->has_chained_tuner = false;
  communicator->chained_tuner = nullptr;
  communicator->has_chained_profiler.store(false, std::memory_order_relaxed);
  communicator->chained_profiler.store(nullptr, std::memory_order_relaxed);
  is_used_[place_of(context)] = false;
}

bool Communicators::close(Communicator& communicator, std::atomic<bool>& flag) {
  const std::lock_guard lock(mutex_);
  if (!flag.exchange(false, std::memory_order_relaxed)) return false;
  return !communicator.is_tuner_open.load(std::memory_order_relaxed) &&
         !communicator.is_profiler_open.load(std::memory_order_relaxed);
}

}  // namespace hocket::nccl::abi
