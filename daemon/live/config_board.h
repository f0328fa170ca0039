#pragma once

// In-memory cache of the keys' current configurations, in the form that jobs receive. Evicts the
// least recently used when full.
// daemon/live/live_tuning.h decides when watchers are notified of a change. Thread-safe.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/protocol/job_message.h"
#include "daemon/http/feed.h"
#include "daemon/live/memory_limits.h"
#include "store/store.h"

namespace hocket {

/// Current version of a key.
struct BoardEntry {
  std::int64_t version = 0;  ///< above 0
  KeyState state;
  std::string etag;  ///< "\"12\""
  /// Body of the response to GET /v1/configs/{key}.
  std::shared_ptr<const std::string> body;
  FeedEvent event;  ///< event that announces this version
};

class ConfigBoard {
 public:
  using EntryPtr = std::shared_ptr<const BoardEntry>;

  /// Requires that `store` and `feed` outlive this object.
  ConfigBoard(Store& store, Feed& feed, MemoryLimits limits = {});

  /// Returns the cached entry; null if the key was not read yet, or has no version.
  EntryPtr cached(std::string_view key) const;

  /// Reads the entry from the store. Null if the key has no version.
  Result<EntryPtr> refresh(const ConfigKey& key);

  /// Returns cached(), or refresh() if nothing is cached.
  Result<EntryPtr> find(const ConfigKey& key);

  /// Returns the entry of any version of a key. It is not cached.
  Result<EntryPtr> entry_of(const ConfigKey& key, const PromotionRow& row) const;

  /// Publishes the current version on topic(key), unless it was the last one published there.
  void publish(const ConfigKey& key);

  /// Drops the entry and its topic, which must not be watched.
  void forget(const ConfigKey& key);

  std::size_t size() const;

  static std::string topic(std::string_view key) { return "config/" + std::string(key); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  struct Slot {
    EntryPtr entry;
    mutable std::atomic<std::uint64_t> used = 0;  ///< a number of uses_
  };

  void put(const std::string& key, EntryPtr entry);

  Store& store_;
  Feed& feed_;
  const MemoryLimits limits_;
  // Held during refresh(), so that an older result never replaces a newer one.
  std::mutex refreshing_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, Slot, Hash, std::equal_to<>> entries_;  // guarded by mutex_
  mutable std::atomic<std::uint64_t> uses_ = 0;
};

/// Returns the event that tells a job of a version.
FeedEvent event_of(const ConfigMessage& message);

}  // namespace hocket
