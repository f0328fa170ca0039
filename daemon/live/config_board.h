#pragma once

// In-memory cache of the keys' current configurations, in the form that jobs receive. Evicts the
// least recently used when full. Jobs of an owner that have kept a newer version than the released
// one get that (store/rows.h, is_for()); the empty owner stands for everybody.
// daemon/live/live_tuning.h decides when watchers are notified of a change. Thread-safe.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
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

  /// Returns the cached entry; null if the key was not read yet, or has no version for `owner`.
  EntryPtr cached(std::string_view key, std::string_view owner = {}) const;

  /// Reads the entries of a key from the store, and returns that of everybody. Null if the key has
  /// no released version.
  Result<EntryPtr> refresh(const ConfigKey& key);

  /// Returns cached(), after refresh() if nothing is cached.
  Result<EntryPtr> find(const ConfigKey& key, std::string_view owner = {});

  /// Returns the entry of any version of a key. It is not cached.
  Result<EntryPtr> entry_of(const ConfigKey& key, const PromotionRow& row) const;

  /// Publishes the current version on topic(key, owner), unless it was the last one published
  /// there.
  void publish(const ConfigKey& key, const std::string& owner = {});

  /// Drops the entries and their topics, which must not be watched.
  void forget(const ConfigKey& key);

  std::size_t size() const;

  /// The topic of the versions that jobs of `owner` get.
  static std::string topic(std::string_view key, const std::string& owner = {}) {
    return "config/" + std::string(key) + (owner.empty() ? "" : "/" + owner);
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  using OwnedEntries = std::map<std::string, EntryPtr, std::less<>>;  // by owner

  struct Slot {
    EntryPtr entry;
    OwnedEntries owned;  ///< of owners whose newest version is not everybody's
    mutable std::atomic<std::uint64_t> used = 0;  ///< a number of uses_
  };

  void put(const std::string& key, EntryPtr entry, OwnedEntries owned);
  /// Returns the entries of the owners that have kept a version newer than `released`.
  Result<OwnedEntries> owned_entries(const ConfigKey& key, std::int64_t released) const;

  Store& store_;
  Feed& feed_;
  const MemoryLimits limits_;
  // Held during refresh(), so that an older result never replaces a newer one.
  std::mutex refreshing_;
  // Owners with a topic of their own, by the key's text; guarded by refreshing_.
  std::map<std::string, std::set<std::string>> published_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, Slot, Hash, std::equal_to<>> entries_;  // guarded by mutex_
  mutable std::atomic<std::uint64_t> uses_ = 0;
};

/// Returns the event that tells a job of a version.
FeedEvent event_of(const ConfigMessage& message);

}  // namespace hocket
