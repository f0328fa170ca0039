#pragma once

// Keeps what was made last of a cache's values, within a limit of bytes. A value is made once: who
// asks for it meanwhile waits. Thread-safe.

#include <cstddef>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/base/result.h"

namespace hocket {

template <class Value>
class LoadedCache {
 public:
  using Made = Result<std::shared_ptr<const Value>>;

  /// `bytes_of` returns what a value takes in memory. The newest value stays whatever it takes.
  LoadedCache(std::size_t most_bytes, std::function<std::size_t(const Value&)> bytes_of)
      : most_bytes_(most_bytes), bytes_of_(std::move(bytes_of)) {}

  /// Returns the value of `key`; makes it by `make`, which returns Result<Value>, if it is not
  /// there. An error is returned to all who wait for it and not kept.
  template <class Make>
  Made get(const std::string& key, Make make) {
    std::promise<Made> promise;
    {
      std::unique_lock lock(mutex_);
      if (const auto place = find(key); place != entries_.end()) {
        entries_.splice(entries_.begin(), entries_, place);
        const auto made = place->made;
        lock.unlock();
        return made.get();
      }
      entries_.push_front({key, promise.get_future().share()});
    }
    // A value that throws while it is made leaves an error to those who wait.
    Made made =
        failure(ErrorCode::unavailable, "it could not be loaded; the daemon's log says why");
    const auto finish = [&] {
      keep(key, made);
      promise.set_value(made);
    };
    try {
      auto value = make();
      if (value) {
        made = std::make_shared<const Value>(std::move(*value));
      } else {
        made = failure(value.error());
      }
    } catch (...) {
      finish();
      throw;
    }
    finish();
    return made;
  }

 private:
  struct Entry {
    std::string key;
    std::shared_future<Made> made;
    std::size_t bytes = 0;
  };
  using Place = typename std::list<Entry>::iterator;

  Place find(const std::string& key) {
    auto place = entries_.begin();
    while (place != entries_.end() && place->key != key) ++place;
    return place;
  }

  /// Counts a value that was made, and drops the ones used longest ago; forgets an error.
  void keep(const std::string& key, const Made& made) {
    const std::lock_guard lock(mutex_);
    const auto place = find(key);
    if (!made) {
      entries_.erase(place);
      return;
    }
    place->bytes = bytes_of_(**made);
    bytes_ += place->bytes;
    for (auto last = entries_.end(); bytes_ > most_bytes_ && last != entries_.begin();) {
      --last;
      // Values that are still being made have no bytes yet.
      if (last == place || last->bytes == 0) continue;
      bytes_ -= last->bytes;
      last = entries_.erase(last);
    }
  }

  const std::size_t most_bytes_;
  const std::function<std::size_t(const Value&)> bytes_of_;
  std::mutex mutex_;
  // Guarded by mutex_:
  std::list<Entry> entries_;  ///< most recently used first
  std::size_t bytes_ = 0;     ///< bytes of all entries
};

}  // namespace hocket
