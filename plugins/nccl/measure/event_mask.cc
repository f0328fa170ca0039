#include "plugins/nccl/measure/event_mask.h"

#include <algorithm>

#include "plugins/nccl/interface/nccl_interface.h"

namespace hocket::nccl::measure {

void EventMask::attach(int* nccl_mask) {
  if (nccl_mask == nullptr) return;
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(targets_.begin(), targets_.end(),
                               [&](const Target& target) { return target.mask == nccl_mask; });
  if (at != targets_.end()) {
    ++at->users;
  } else {
    targets_.push_back({nccl_mask, 1});
  }
  write();
}

void EventMask::detach(int* nccl_mask) {
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(targets_.begin(), targets_.end(),
                               [&](const Target& target) { return target.mask == nccl_mask; });
  if (at == targets_.end()) return;
  if (--at->users == 0) {
    __atomic_store_n(nccl_mask, chained_events(), __ATOMIC_RELAXED);
    targets_.erase(at);
  }
  write();
}

void EventMask::change(Events before, Events now) {
  if (before == now) return;
  const std::lock_guard lock(mutex_);
  asking_ += (now != Events::none) - (before != Events::none);
  timing_ += (now == Events::timed) - (before == Events::timed);
  write();
}

void EventMask::try_write() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) write();
}

void EventMask::write() {
  const int own =
      (asking_ > 0 ? abi::kCollectiveEvent : 0) | (timing_ > 0 ? abi::kKernelChannelEvent : 0);
  const int chained = chained_events();
  for (const Target& target : targets_) {
    __atomic_store_n(target.mask, chained | own, __ATOMIC_RELAXED);
  }
  written_chained_.store(chained, std::memory_order_relaxed);
}

}  // namespace hocket::nccl::measure
