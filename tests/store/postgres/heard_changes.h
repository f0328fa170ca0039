#pragma once

// The changes that a listener of a store has heard of. Thread-safe.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "store/change_listener.h"

namespace hocket {

class HeardChanges {
 public:
  OnKeyChange callback() {
    return [this](const std::optional<KeyChange>& change) {
      const std::lock_guard lock(mutex_);
      changes_.push_back(change);
      more_.notify_all();
    };
  }

  /// Waits until there are `count`, and returns them.
  std::vector<std::optional<KeyChange>> first(std::size_t count) {
    std::unique_lock lock(mutex_);
    more_.wait_for(lock, std::chrono::seconds(60), [&] { return changes_.size() >= count; });
    auto found = changes_;
    if (found.size() > count) found.resize(count);
    return found;
  }

  std::vector<std::optional<KeyChange>> all() {
    const std::lock_guard lock(mutex_);
    return changes_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<std::optional<KeyChange>> changes_;
};

}  // namespace hocket
